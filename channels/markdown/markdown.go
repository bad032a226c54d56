// Package markdown parses Markdown as language models write it, for all channels, and splits texts
// into parts. Walk reports the elements of a text to a renderer. Layout turns them into a plain
// text with marks, which Split splits and a channel writes in the format of its network. The
// package knows no network.
package markdown

import (
	"cmp"
	"strings"

	"nanobot/channels"
)

// Mark is the formatting of the text from byte Start to before byte End.
type Mark struct {
	Kind       Kind
	Start, End int
	Level      int    // of a heading
	Language   string // of a block of code
	URL        string // of a link
}

// Text is a plain text with its formatting. Marks are sorted by their start, the longer first, and
// any two are nested or disjoint.
type Text struct {
	Text  string
	Marks []Mark
}

// Plain returns a text without formatting.
func Plain(s string) Text { return Text{Text: s} }

// Layout configures the parts of Markdown that a plain text with marks cannot express.
type Layout struct {
	// Format is the format of the sources that the layout reads.
	Format channels.Format
	// Bullet precedes the items of a list.
	Bullet string
	// Target returns the URL of a link with this destination on the network, or "" if the link
	// cannot be tapped there; its destination is then written after it. Nil means that no link can
	// be tapped.
	Target func(destination string) string
	// TableWidth is the maximum width of a table in monospace columns; 0 means the width of a
	// phone.
	TableWidth int
}

// A phone shows about 40 monospace characters per line and wraps the rest, a desktop twice as many.
const phoneWidth = 60

// As returns the layout for sources in another format.
func (l Layout) As(format channels.Format) Layout {
	l.Format = format
	return l
}

// Text parses a source. Lists get bullets, and a table becomes aligned monospace text, or a
// paragraph per row if it is too wide. Line breaks are kept. The text is empty only if nothing in
// the source is visible.
func (l Layout) Text(source string) Text {
	source = clean(source)
	if !Visible(source) {
		return Text{}
	}
	l.Bullet, l.TableWidth = cmp.Or(l.Bullet, "• "), cmp.Or(l.TableWidth, phoneWidth)
	w := &writer{layout: l}
	Walk(source, l.Format, w)
	t := Assemble(string(w.out), w.marks)
	if !Visible(t.Text) { // only markup, which is shown rather than lost
		return Plain(strings.TrimSpace(source))
	}
	return t
}

// Visitor receives the pieces of a text and the starts and ends of its marks, in reading order.
type Visitor interface {
	Begin(m Mark)
	End(m Mark)
	// Text receives the text between two such positions, and its offset in bytes.
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
