package markdown_test

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"nanobot/channels"
	"nanobot/channels/markdown"
)

var kindNames = map[markdown.Kind]string{
	markdown.Heading: "h", markdown.CodeBlock: "pre", markdown.Quote: "quote", markdown.Marker: "marker", markdown.Bold: "b",
	markdown.Italic: "i", markdown.Strike: "s", markdown.Spoiler: "spoiler", markdown.Code: "code", markdown.Link: "a", markdown.AutoLink: "address",
	markdown.WarnedLink: "warned",
}

// notation is a visitor that writes marks as tags, for people to read.
type notation struct{ strings.Builder }

func (n *notation) Begin(m markdown.Mark) {
	n.WriteString("<" + kindNames[m.Kind])
	if m.Level > 0 {
		fmt.Fprint(n, m.Level)
	}
	if m.URL != "" || m.Language != "" {
		n.WriteString(" " + m.URL + m.Language)
	}
	n.WriteString(">")
}

func (n *notation) End(m markdown.Mark) { n.WriteString("</" + kindNames[m.Kind] + ">") }

func (n *notation) Text(s string, _ int) { n.WriteString(s) }

func notate(t markdown.Text) string {
	n := &notation{}
	t.Visit(n)
	return n.String()
}

// check tells what is wrong with a text and its marks, or "".
func check(t markdown.Text) string {
	if !utf8.ValidString(t.Text) {
		return "the text is no UTF-8"
	}
	var around []markdown.Mark
	for _, m := range t.Marks {
		around = slices.DeleteFunc(around, func(o markdown.Mark) bool { return o.End <= m.Start })
		switch {
		case m.Start < 0 || m.Start >= m.End || m.End > len(t.Text):
			return fmt.Sprintf("%+v is out of range", m)
		case !utf8.RuneStart(t.Text[m.Start]) || m.End < len(t.Text) && !utf8.RuneStart(t.Text[m.End]):
			return fmt.Sprintf("%+v cuts a character", m)
		case kindNames[m.Kind] == "":
			return fmt.Sprintf("%+v is of no kind that a text has", m)
		}
		for _, o := range around {
			if o.Start > m.Start || o.End < m.End {
				return fmt.Sprintf("%+v reaches out of %+v", m, o)
			}
		}
		around = append(around, m)
	}
	return ""
}

// checkParts tells which promise of Split the parts of a text break, or "".
func checkParts(whole markdown.Text, limit int, cost markdown.Cost, parts []markdown.Text) string {
	if markdown.Visible(whole.Text) != (len(parts) > 0) {
		return fmt.Sprintf("%d parts", len(parts))
	}
	pos := 0
	for i, p := range parts {
		if wrong := check(p); wrong != "" {
			return fmt.Sprintf("part %d: %s", i, wrong)
		}
		if n := costOf(p, cost); n > limit && uniseg.GraphemeClusterCount(p.Text) > 1 {
			return fmt.Sprintf("part %d costs %d", i, n)
		}
		if !markdown.Visible(p.Text) {
			return fmt.Sprintf("part %d is blank", i)
		}
		for !strings.HasPrefix(whole.Text[pos:], p.Text) {
			r, n := utf8.DecodeRuneInString(whole.Text[pos:])
			if n == 0 || markdown.Visible(string(r)) {
				return fmt.Sprintf("part %d does not follow from %q", i, whole.Text[pos:])
			}
			pos += n
		}
		pos += len(p.Text)
	}
	if markdown.Visible(whole.Text[pos:]) {
		return fmt.Sprintf("%q is lost", whole.Text[pos:])
	}
	return ""
}

// costOf is what a part costs.
func costOf(p markdown.Text, cost markdown.Cost) int {
	n := cost.Words(p.Text)
	for _, m := range p.Marks {
		if cost.Mark != nil {
			n += cost.Mark(m)
		}
		if m.Kind == markdown.Quote {
			n += cost.QuotedLine * strings.Count(p.Text[m.Start:m.End], "\n")
		}
	}
	return n
}

// signs is the cost of a network that writes formatting with signs.
var signs = markdown.Cost{
	Words: channels.Runes,
	Mark: func(m markdown.Mark) int {
		if m.Kind == markdown.Marker || m.Kind == markdown.WarnedLink {
			return 0
		}
		return 4 + len(m.URL) + len(m.Language)
	},
	QuotedLine: 2,
}
