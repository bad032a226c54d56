package updates

import (
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
)

// UnitRange is a range of a text in UTF-16 units.
type UnitRange struct{ From, To int }

// mark is an entity that is written as Markdown: the text before and after its range.
type mark struct {
	UnitRange
	open, close string
	isQuote     bool // each of its lines has a prefix
	isLiteral   bool // nothing in it is escaped
}

// RenderMarkdown writes the formatting of a text as Markdown, and omits ranges of the text. A text
// without formatting stays as it is; in others, characters that would be formatting are escaped.
func RenderMarkdown(text string, entities []Entity, omitted []UnitRange) string {
	units := utf16.Encode([]rune(text))
	marks, formatted := newMarks(units, entities)
	if !formatted && len(omitted) == 0 {
		return text
	}
	var out []uint16
	write := func(s string) { out = append(out, utf16.Encode([]rune(s))...) }
	var open []mark
	for at := 0; at <= len(units); at++ {
		for len(open) > 0 && open[len(open)-1].To <= at {
			write(open[len(open)-1].close)
			open = open[:len(open)-1]
		}
		if at == len(units) {
			break
		}
		for len(marks) > 0 && marks[0].From <= at {
			if marks[0].To > at {
				open = append(open, marks[0])
				write(marks[0].open)
			}
			marks = marks[1:]
		}
		if slices.ContainsFunc(omitted, func(r UnitRange) bool { return at >= r.From && at < r.To }) {
			continue
		}
		unit := units[at]
		literal := slices.ContainsFunc(open, func(m mark) bool { return m.isLiteral })
		if formatted && !literal && unit < 0x80 && strings.ContainsRune("\\`*_[]~", rune(unit)) {
			write(`\`)
		}
		out = append(out, unit)
		if unit == '\n' && slices.ContainsFunc(open, func(m mark) bool { return m.isQuote && m.To > at+1 }) {
			write("> ")
		}
	}
	return string(utf16.Decode(out))
}

// newMarks returns the marks of a text in order, the outer ones first, and whether one of them is
// formatting.
func newMarks(units []uint16, entities []Entity) (marks []mark, formatted bool) {
	for _, e := range entities {
		if e.Offset < 0 || e.Length <= 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
			continue
		}
		m := newMark(units, e)
		for m.From < m.To && isBlank(units[m.To-1]) {
			m.To--
		}
		for m.From < m.To && isBlank(units[m.From]) {
			m.From++
		}
		if m.From == m.To || m.open == "" && !m.isLiteral {
			continue
		}
		marks, formatted = append(marks, m), formatted || m.open != ""
	}
	slices.SortStableFunc(marks, func(a, b mark) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return b.To - a.To
	})
	return marks, formatted
}

func isBlank(unit uint16) bool { return unit == ' ' || unit == '\n' || unit == '\t' }

func newMark(units []uint16, e Entity) mark {
	m := mark{UnitRange: UnitRange{e.Offset, e.Offset + e.Length}}
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
		fence := fenceFor(units[m.From:m.To], 1)
		m.open, m.close, m.isLiteral = fence, fence, true
	case models.MessageEntityTypePre:
		fence := fenceFor(units[m.From:m.To], 3)
		m.open, m.close, m.isLiteral = fence+e.Language.orZero()+"\n", "\n"+fence, true
		if m.From > 0 && units[m.From-1] != '\n' {
			m.open = "\n" + m.open
		}
		if m.To < len(units) && units[m.To] != '\n' {
			m.close += "\n"
		}
	case models.MessageEntityTypeTextLink:
		m.open, m.close = "[", "]("+linkEscapes.Replace(e.URL.orZero())+")"
	case models.MessageEntityTypeBlockquote, models.MessageEntityTypeExpandableBlockquote:
		m.open, m.isQuote = "> ", true
	case models.MessageEntityTypeURL, models.MessageEntityTypeEmail, models.MessageEntityTypeMention,
		models.MessageEntityTypeHashtag,
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

// EntityText returns the text that an entity covers, or "". Offsets are in UTF-16 units.
func EntityText(text string, e Entity) string {
	units := utf16.Encode([]rune(text))
	if e.Offset < 0 || e.Length < 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
		return ""
	}
	return string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
}
