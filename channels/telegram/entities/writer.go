package entities

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// style is a way to write text within a line.
type style int

const (
	bold style = iota
	italic
	strike
	spoiler
	code
	link
	styles
)

var styleTypes = [styles]string{Bold, Italic, Strikethrough, Spoiler, Code, Link}

// mark is an entity whose place is in bytes.
type mark struct {
	Entity
	start, end int
}

// writer puts together the text of a document and its marks.
type writer struct {
	source []byte
	out    []byte
	marks  []mark

	prefix string // starts every line
	lead   string // starts the next line instead: the bullet of a list item
	indent string // follows either on the next line
	breaks int    // line breaks to be written before the next text

	depth  [styles]int // how many spans of each style are open
	url    string      // of the outermost link
	last   [styles]int // the last mark of each style, or -1
	seam   [2]int      // the line breaks written last within a block
	nested int         // how many lists and quotes are open
	quoted bool        // in a quote

	links   []openLink
	inTable bool
	used    map[string]bool // the link definitions that a link refers to
}

func newWriter(source []byte) *writer {
	w := &writer{source: source}
	w.forget()
	return w
}

// forget has no mark go on in what is written next.
func (w *writer) forget() {
	for i := range w.last {
		w.last[i] = -1
	}
}

// gap ends a block. The next begins after at least n line breaks.
func (w *writer) gap(n int) {
	w.breaks = max(w.breaks, n)
	w.indent = ""
	w.forget()
}

// newLine breaks the line within a block.
func (w *writer) newLine(indent string) {
	w.breaks++
	w.indent = indent
}

// flush writes the line breaks that are due, and what the new line starts with.
func (w *writer) flush() {
	if w.breaks == 0 && len(w.out) > 0 && w.lead == "" {
		return
	}
	from := len(w.out)
	if from > 0 {
		w.out = append(w.out, strings.Repeat("\n", w.breaks)...)
	}
	if w.lead == "" {
		w.out = append(w.out, w.prefix...)
	}
	w.out = append(w.out, w.lead...)
	w.out = append(w.out, w.indent...)
	w.lead, w.indent, w.breaks = "", "", 0
	w.seam = [2]int{from, len(w.out)}
}

// ownLine makes sure that what comes next starts a line, without a bullet before it.
func (w *writer) ownLine() {
	if w.lead != "" {
		w.lead = strings.TrimRight(w.lead, " ")
		w.flush()
		w.gap(1)
	}
}

// write adds text in the styles that are open.
func (w *writer) write(s string) {
	if s == "" {
		return
	}
	w.flush()
	start := len(w.out)
	w.out = append(w.out, s...)
	for st, on := range w.active() {
		if !on {
			continue
		}
		if i := w.last[st]; i >= 0 && w.touches(i, start) && w.marks[i].URL == w.urlOf(style(st)) {
			w.marks[i].end = len(w.out)
			continue
		}
		w.last[st] = len(w.marks)
		e := Entity{Type: styleTypes[st], URL: w.urlOf(style(st))}
		w.marks = append(w.marks, mark{Entity: e, start: start, end: len(w.out)})
	}
}

// touches tells whether a mark ends at p, or where the line break before p starts.
func (w *writer) touches(i, p int) bool {
	end := w.marks[i].end
	return end == p || end == w.seam[0] && w.seam[1] == p
}

func (w *writer) urlOf(s style) string {
	if s == link {
		return w.url
	}
	return ""
}

// active returns the styles to write in. Code cannot be anything else as well: it gives way to a
// link, or a spoiler, whose loss would be felt, and the others give way to it.
func (w *writer) active() (on [styles]bool) {
	for s := range styles {
		on[s] = w.depth[s] > 0
	}
	on[link] = w.url != ""
	if on[link] || on[spoiler] {
		on[code] = false
	}
	if on[code] {
		return [styles]bool{code: true}
	}
	return on
}

// block marks a stretch that was written since start.
func (w *writer) block(e Entity, start int) {
	w.marks = append(w.marks, mark{Entity: e, start: start, end: len(w.out)})
}

// findReferences looks up which link definitions are referred to.
func (w *writer) findReferences(document ast.Node) {
	w.used = map[string]bool{}
	for n := document; n != nil; n = following(n, document) {
		if l, ok := n.(*ast.Link); ok && l.Reference != nil {
			w.used[util.ToLinkReference(l.Reference.Value)] = true
		}
		if l, ok := n.(*ast.Image); ok && l.Reference != nil {
			w.used[util.ToLinkReference(l.Reference.Value)] = true
		}
	}
}

// following returns the node behind n in reading order, or nil behind the last within root.
func following(n, root ast.Node) ast.Node {
	if c := n.FirstChild(); c != nil {
		return c
	}
	for n != root && n.NextSibling() == nil {
		n = n.Parent()
	}
	if n == root {
		return nil
	}
	return n.NextSibling()
}
