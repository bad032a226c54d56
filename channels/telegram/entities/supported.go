package entities

import (
	"slices"
	"strings"

	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/markdown"
)

// A longer quote is collapsed: Telegram then shows three lines until it is tapped.
const (
	longQuoteLines = 12
	longQuoteBytes = 1000
)

// keepSupported returns the marks of a text that Telegram can show. Telegram does not combine code
// with other formatting: code within a link or spoiler loses its mark, and bold, italic and
// strikethrough are split around code. Headings become bold, and bullets have no formatting.
func keepSupported(t markdown.Text) []markdown.Mark {
	code := codeOf(t.Marks)
	kept := make([]markdown.Mark, 0, len(t.Marks))
	for _, m := range t.Marks {
		switch m.Kind {
		case markdown.Quote, markdown.CodeBlock, markdown.Link, markdown.Spoiler:
			kept = append(kept, m)
		case markdown.Heading:
			m.Kind, m.Level = markdown.Bold, 0
			kept = append(kept, withoutCode(m, code)...)
		case markdown.Bold, markdown.Italic, markdown.Strike:
			kept = append(kept, withoutCode(m, code)...)
		default:
		}
	}
	return markdown.Assemble(t.Text, append(kept, code...)).Marks
}

// codeOf returns the marks of inline code outside links and spoilers.
func codeOf(marks []markdown.Mark) []markdown.Mark {
	var code []markdown.Mark
	end := 0 // end of the links and spoilers so far
	for _, m := range marks {
		switch m.Kind {
		case markdown.Link, markdown.Spoiler:
			end = max(end, m.End)
		case markdown.Code:
			if m.Start >= end {
				code = append(code, m)
			}
		default:
		}
	}
	return code
}

// withoutCode returns the pieces of a mark outside the code in it.
func withoutCode(m markdown.Mark, code []markdown.Mark) []markdown.Mark {
	i, _ := slices.BinarySearchFunc(code, m.Start, func(c markdown.Mark, p int) int { return c.End - p - 1 })
	var pieces []markdown.Mark
	for ; i < len(code) && code[i].Start < m.End; i++ {
		before := m
		before.End = code[i].Start
		if before.Start < before.End {
			pieces = append(pieces, before)
		}
		m.Start = max(m.Start, code[i].End)
	}
	if m.Start < m.End {
		pieces = append(pieces, m)
	}
	return pieces
}

// toEntities turns marks into entities, measured in UTF-16 units.
func toEntities(s string, marks []markdown.Mark) []Entity {
	if len(marks) == 0 {
		return nil
	}
	places := make([]int, 0, 2*len(marks))
	for _, m := range marks {
		places = append(places, m.Start, m.End)
	}
	slices.Sort(places)
	units := make(map[int]int, len(places))
	at, sum := 0, 0
	for _, p := range places {
		sum += channels.UTF16(s[at:p])
		at = p
		units[p] = sum
	}
	all := make([]Entity, len(marks))
	for i, m := range marks {
		all[i] = Entity{
			Type: typeOf(m, s[m.Start:m.End]), Offset: units[m.Start], Length: units[m.End] - units[m.Start],
			URL: m.URL, Language: m.Language,
		}
	}
	return all
}

// types are the entity types of the marks that have one.
var types = map[markdown.Kind]models.MessageEntityType{
	markdown.Bold: models.MessageEntityTypeBold, markdown.Italic: models.MessageEntityTypeItalic,
	markdown.Strike:  models.MessageEntityTypeStrikethrough,
	markdown.Spoiler: models.MessageEntityTypeSpoiler, markdown.Code: models.MessageEntityTypeCode,
	markdown.CodeBlock: models.MessageEntityTypePre,
	markdown.Link:      models.MessageEntityTypeTextLink, markdown.Quote: models.MessageEntityTypeBlockquote,
}

// typeOf returns the entity type of a mark.
func typeOf(m markdown.Mark, said string) models.MessageEntityType {
	if m.Kind == markdown.Quote && (len(said) > longQuoteBytes || strings.Count(said, "\n") >= longQuoteLines) {
		return models.MessageEntityTypeExpandableBlockquote
	}
	return types[m.Kind]
}
