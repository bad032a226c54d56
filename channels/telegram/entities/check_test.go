package entities_test

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/telegram/entities"
)

// read makes text and entities of Markdown.
func read(source string) entities.Text {
	return entities.Write(entities.Read(source, channels.Markdown))
}

// notate writes a text with its entities as tags, for people to read.
func notate(t entities.Text) string {
	units := utf16.Encode([]rune(t.Text))
	opened := map[int][]string{}
	closed := map[int][]string{}
	for _, e := range t.Entities {
		tag := string(e.Type)
		if e.URL != "" || e.Language != "" {
			tag += " " + e.URL + e.Language
		}
		opened[e.Offset] = append(opened[e.Offset], "<"+tag+">")
		end := e.Offset + e.Length
		closed[end] = slices.Insert(closed[end], 0, "</"+string(e.Type)+">")
	}
	var b strings.Builder
	last := 0
	for i := range len(units) + 1 {
		if closed[i] == nil && opened[i] == nil {
			continue
		}
		b.WriteString(string(utf16.Decode(units[last:i])))
		b.WriteString(strings.Join(closed[i], "") + strings.Join(opened[i], ""))
		last = i
	}
	return b.String() + string(utf16.Decode(units[last:]))
}

// check says what is wrong with a text by the rules of the Bot API, or "".
func check(t entities.Text) string {
	if !utf8.ValidString(t.Text) {
		return "the text is no UTF-8"
	}
	units := utf16.Encode([]rune(t.Text))
	if t.Text != "" && !visible(t.Text) {
		return "the text is blank"
	}
	var around []entities.Entity
	for i, e := range t.Entities {
		if wrong := checkOne(e, units); wrong != "" {
			return fmt.Sprintf("%+v %s", e, wrong)
		}
		if i > 0 {
			if before := t.Entities[i-1]; before.Offset > e.Offset || before.Offset == e.Offset && before.Length < e.Length {
				return fmt.Sprintf("%+v is out of order behind %+v", e, before)
			}
		}
		around = slices.DeleteFunc(around, func(o entities.Entity) bool { return o.Offset+o.Length <= e.Offset })
		for _, o := range around {
			if wrong := checkPair(o, e); wrong != "" {
				return fmt.Sprintf("%+v %s %+v", e, wrong, o)
			}
		}
		around = append(around, e)
	}
	return ""
}

func checkOne(e entities.Entity, units []uint16) string {
	end := e.Offset + e.Length
	if e.Offset < 0 || e.Length <= 0 || end > len(units) {
		return "is out of range"
	}
	if low(units, e.Offset) || low(units, end) {
		return "cuts a surrogate pair"
	}
	if (e.URL != "") != (e.Type == "text_link") || e.Language != "" && e.Type != "pre" {
		return "has fields of another type"
	}
	said := string(utf16.Decode(units[e.Offset:end]))
	switch e.Type {
	case "blockquote", "expandable_blockquote": // may start with the indentation of code
	case "bold", "italic", "strikethrough", "spoiler", "text_link":
		if strings.TrimSpace(said) != said {
			return "has white space at its ends"
		}
	case "code", "pre":
	default:
		return "has no type of the Bot API"
	}
	if strings.TrimSpace(said) == "" {
		return "is blank"
	}
	return ""
}

func low(units []uint16, i int) bool {
	return i < len(units) && 0xdc00 <= units[i] && units[i] < 0xe000 && i > 0 && 0xd800 <= units[i-1] && units[i-1] < 0xdc00
}

// checkPair looks at two entities that overlap, of which the outer comes first.
func checkPair(outer, inner entities.Entity) string {
	quote := func(e entities.Entity) bool { return strings.HasSuffix(string(e.Type), "blockquote") }
	mono := func(e entities.Entity) bool { return e.Type == "code" || e.Type == "pre" }
	switch {
	case inner.Offset+inner.Length > outer.Offset+outer.Length:
		return "reaches out of"
	case inner.Type == outer.Type:
		return "nests in its like"
	case quote(inner):
		return "is a quote inside"
	case mono(outer), mono(inner) && !quote(outer):
		return "must not share text with"
	}
	return ""
}

func visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector) &&
			!strings.ContainsRune("\u034f\u115f\u1160\u2800\u3164\uffa0\ufffc", r)
	})
}
