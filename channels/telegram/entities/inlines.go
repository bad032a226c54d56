package entities

import (
	"strings"

	"github.com/yuin/goldmark/ast"
)

// inlines writes the text of a block. It does not call itself: 100,000 asterisks nest that deep.
func (w *writer) inlines(block ast.Node) {
	for n := block.FirstChild(); n != nil; {
		if w.enter(n) && n.FirstChild() != nil {
			n = n.FirstChild()
			continue
		}
		w.leave(n)
		for n.NextSibling() == nil {
			if n = n.Parent(); n == block {
				return
			}
			w.leave(n)
		}
		n = n.NextSibling()
	}
}

// enter writes a node up to its children, and tells whether they are to be written too.
func (w *writer) enter(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Text:
		w.textNode(n)
	case *ast.String:
		w.write(string(n.Value))
	case *ast.CodeSpan:
		w.depth[code]++
		w.write(w.codeSpan(n))
		w.depth[code]--
		return false
	case *span:
		w.depth[n.style]++
		return true
	case *ast.Link:
		w.openLink(n.Destination)
		return true
	case *ast.Image:
		w.openLink(n.Destination)
		return true
	case *ast.AutoLink:
		w.write(string(n.Label(w.source)))
	case *ast.RawHTML:
		w.rawHTML(n)
	}
	return false
}

// leave writes what follows the children of a node.
func (w *writer) leave(n ast.Node) {
	switch n := n.(type) {
	case *span:
		w.depth[n.style]--
	case *ast.Link, *ast.Image:
		w.closeLink()
	}
}

func (w *writer) textNode(n *ast.Text) {
	s := string(n.Segment.Value(w.source))
	if !n.IsRaw() {
		s = decode(s)
	}
	w.write(s)
	if n.SoftLineBreak() || n.HardLineBreak() {
		w.newLine(w.nextIndent(n.Segment.Stop))
	}
}

// nextIndent returns the indentation of the line behind the one that p is in. Only outside lists
// and quotes is it the author's own.
func (w *writer) nextIndent(p int) string {
	if w.nested > 0 {
		return ""
	}
	for p < len(w.source) && w.source[p] != '\n' {
		p++
	}
	from := min(p+1, len(w.source))
	for p = from; p < len(w.source) && (w.source[p] == ' ' || w.source[p] == '\t'); p++ {
	}
	return string(w.source[from:p])
}

// codeSpan returns the text of a code span on one line. In a table its bars have backslashes before
// them.
func (w *writer) codeSpan(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(w.source))
		}
	}
	s := strings.ReplaceAll(b.String(), "\n", " ")
	if w.inTable {
		s = strings.ReplaceAll(s, `\|`, "|")
	}
	return s
}

func (w *writer) rawHTML(n *ast.RawHTML) {
	raw := w.lines(n.Segments)
	switch strings.ToLower(strings.ReplaceAll(raw, " ", "")) {
	case "<br>", "<br/>":
		w.newLine("")
	default:
		w.plain(raw)
	}
}
