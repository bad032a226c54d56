// Package markdown reads Markdown as language models write it, once for all channels, and cuts
// texts into parts. Walk passes the elements of a text to a renderer. Layout turns them into a
// plain text with marks, which Split cuts and a channel writes in the format of its network.
package markdown

import (
	"cmp"
	"strings"
)

// Mark is the formatting of a stretch of text, from its first byte to behind its last.
type Mark struct {
	Kind       Kind
	Start, End int
	Level      int    // of a heading
	Language   string // of a block of code
	URL        string // of a link
}

// Text is a plain text with its formatting. Marks are sorted by their start, the longer first. Two
// of them are apart or one holds the other.
type Text struct {
	Text  string
	Marks []Mark
}

// Plain returns a text without formatting.
func Plain(s string) Text { return Text{Text: s} }

// Layout says how a network shows what a plain text with marks cannot say.
type Layout struct {
	// Bullet stands before the items of a list.
	Bullet string
	// Target returns the address that a link with this destination leads to on the network, or ""
	// if it cannot be tapped there: where it leads is then written behind it. Nil: none can.
	Target func(destination string) string
	// TableWidth is how many columns of monospace text a table may have; 0 is what a phone shows.
	TableWidth int
}

// A phone shows some 40 monospace characters in a line and wraps the rest, a desktop twice as many.
const phoneWidth = 60

// Text reads Markdown. Lists get bullets, a table becomes aligned monospace, or one paragraph a row
// when it is too wide. Line breaks stay line breaks. The text is empty only if nothing in the
// Markdown is visible.
func (l Layout) Text(source string) Text {
	source = clean(source)
	if !Visible(source) {
		return Text{}
	}
	l.Bullet, l.TableWidth = cmp.Or(l.Bullet, "• "), cmp.Or(l.TableWidth, phoneWidth)
	w := &writer{layout: l}
	Walk(source, w)
	t := Assemble(string(w.out), w.marks)
	if !Visible(t.Text) { // nothing but Markdown's own signs, which had better be shown than lost
		return Plain(strings.TrimSpace(source))
	}
	return t
}

// Visitor receives the pieces of a text and the ends of its marks, in reading order.
type Visitor interface {
	Begin(m Mark)
	End(m Mark)
	// Text receives the text between two ends of marks, and the byte that it begins at.
	Text(s string, at int)
}

// Visit passes a text to a visitor.
func (t Text) Visit(v Visitor) {
	var open []Mark
	at := 0
	move := func(to int) {
		if at < to {
			v.Text(t.Text[at:to], at)
		}
		at = to
	}
	shut := func(to int) {
		for len(open) > 0 && open[len(open)-1].End <= to {
			m := open[len(open)-1]
			move(m.End)
			v.End(m)
			open = open[:len(open)-1]
		}
	}
	for _, m := range t.Marks {
		shut(m.Start)
		move(m.Start)
		v.Begin(m)
		open = append(open, m)
	}
	shut(len(t.Text))
	move(len(t.Text))
}
