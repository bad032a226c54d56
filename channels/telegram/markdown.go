package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
)

// unitRange is a range of a text in UTF-16 units.
type unitRange struct{ from, to int }

// mark is an entity that is written as Markdown: the text before and after its range.
type mark struct {
	unitRange
	open, close string
	isQuote     bool // each of its lines has a prefix
	isLiteral   bool // nothing in it is escaped
}

// renderMarkdown writes the formatting of a text as Markdown, and omits ranges of the text. A text
// without formatting stays as it is; in others, characters that would be formatting are escaped.
func renderMarkdown(text string, entities []entity, omitted []unitRange) string {
	units := utf16.Encode([]rune(text))
	marks, formatted := newMarks(units, entities)
	if !formatted && len(omitted) == 0 {
		return text
	}
	var out []uint16
	write := func(s string) { out = append(out, utf16.Encode([]rune(s))...) }
	var open []mark
	for at := 0; at <= len(units); at++ {
		for len(open) > 0 && open[len(open)-1].to <= at {
			write(open[len(open)-1].close)
			open = open[:len(open)-1]
		}
		if at == len(units) {
			break
		}
		for len(marks) > 0 && marks[0].from <= at {
			if marks[0].to > at {
				open = append(open, marks[0])
				write(marks[0].open)
			}
			marks = marks[1:]
		}
		if slices.ContainsFunc(omitted, func(r unitRange) bool { return at >= r.from && at < r.to }) {
			continue
		}
		unit := units[at]
		literal := slices.ContainsFunc(open, func(m mark) bool { return m.isLiteral })
		if formatted && !literal && unit < 0x80 && strings.ContainsRune("\\`*_[]~", rune(unit)) {
			write(`\`)
		}
		out = append(out, unit)
		if unit == '\n' && slices.ContainsFunc(open, func(m mark) bool { return m.isQuote && m.to > at+1 }) {
			write("> ")
		}
	}
	return string(utf16.Decode(out))
}

// newMarks returns the marks of a text in order, the outer ones first, and whether one of them is
// formatting.
func newMarks(units []uint16, entities []entity) (marks []mark, formatted bool) {
	for _, e := range entities {
		if e.Offset < 0 || e.Length <= 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
			continue
		}
		m := newMark(units, e)
		for m.from < m.to && isBlank(units[m.to-1]) {
			m.to--
		}
		for m.from < m.to && isBlank(units[m.from]) {
			m.from++
		}
		if m.from == m.to || m.open == "" && !m.isLiteral {
			continue
		}
		marks, formatted = append(marks, m), formatted || m.open != ""
	}
	slices.SortStableFunc(marks, func(a, b mark) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	return marks, formatted
}

func isBlank(unit uint16) bool { return unit == ' ' || unit == '\n' || unit == '\t' }

func newMark(units []uint16, e entity) mark {
	m := mark{unitRange: unitRange{e.Offset, e.Offset + e.Length}}
	switch e.Type {
	case models.MessageEntityTypeBold:
		m.open, m.close = "**", "**"
	case models.MessageEntityTypeItalic:
		m.open, m.close = "_", "_"
	case models.MessageEntityTypeStrikethrough:
		m.open, m.close = "~~", "~~"
	case models.MessageEntityTypeSpoiler:
		m.open, m.close = "||", "||"
	case models.MessageEntityTypeCode:
		fence := fenceFor(units[m.from:m.to], 1)
		m.open, m.close, m.isLiteral = fence, fence, true
	case models.MessageEntityTypePre:
		fence := fenceFor(units[m.from:m.to], 3)
		m.open, m.close, m.isLiteral = fence+e.Language.orZero()+"\n", "\n"+fence, true
		if m.from > 0 && units[m.from-1] != '\n' {
			m.open = "\n" + m.open
		}
		if m.to < len(units) && units[m.to] != '\n' {
			m.close += "\n"
		}
	case models.MessageEntityTypeTextLink:
		m.open, m.close = "[", "]("+linkEscapes.Replace(e.URL.orZero())+")"
	case models.MessageEntityTypeBlockquote, models.MessageEntityTypeExpandableBlockquote:
		m.open, m.isQuote = "> ", true
	case models.MessageEntityTypeURL, models.MessageEntityTypeEmail, models.MessageEntityTypeMention, models.MessageEntityTypeHashtag,
		models.MessageEntityTypeCashtag, models.MessageEntityTypeBotCommand, models.MessageEntityTypePhoneNumber:
		m.isLiteral = true
	default: // no formatting, or none that Markdown has
	}
	return m
}

var linkEscapes = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20")

// fenceFor returns a run of backquotes that does not occur in a text.
func fenceFor(units []uint16, length int) string {
	text := string(utf16.Decode(units))
	for strings.Contains(text, strings.Repeat("`", length)) {
		length++
	}
	return strings.Repeat("`", length)
}
