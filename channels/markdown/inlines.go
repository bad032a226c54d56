package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"

	"nanobot/channels"
)

// inlines walks over the inline nodes of a block. It is not recursive, because 100,000 asterisks
// nest that deep.
func (w *walker) inlines(block ast.Node) {
	for n := block.FirstChild(); n != nil; {
		if w.enter(n) && n.FirstChild() != nil {
			n = n.FirstChild()
			continue
		}
		w.endNode(n)
		for n.NextSibling() == nil {
			if n = n.Parent(); n == block {
				return
			}
			w.endNode(n)
		}
		n = n.NextSibling()
	}
}

// enter reports the start of a node to the renderer, and returns whether to visit its children.
func (w *walker) enter(n ast.Node) bool {
	if e, ok := w.element(n); ok {
		w.r.Begin(e)
		if e.Kind == Link {
			w.openLinks++
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			w.r.Text(w.codeSpan(n))
		case *ast.AutoLink:
			w.r.Text(string(n.Label(w.source)))
		default:
			return true
		}
		return false
	}
	switch n := n.(type) {
	case *ast.Text:
		w.text(n)
	case *ast.String:
		w.r.Text(string(n.Value))
	case *ast.RawHTML:
		w.rawHTML(n)
	}
	return false
}

// endNode reports the end of a node to the renderer.
func (w *walker) endNode(n ast.Node) {
	switch n.(type) {
	case *ast.Link, *ast.Image:
		w.openLinks--
	}
	if e, ok := w.element(n); ok {
		w.r.End(e)
		if e.Kind == AutoLink && e.Brackets { // https://bank.example@evil.example shows another host than its own
			w.r.Text(channels.LinkWarnings(e.URL, []channels.Link{{End: len(e.URL), Target: e.URL}})[0])
		}
	}
}

// element returns the element of an inline node.
func (w *walker) element(n ast.Node) (Element, bool) {
	switch n := n.(type) {
	case *span:
		return Element{Kind: n.kind}, true
	case *ast.CodeSpan:
		return Element{Kind: Code}, true
	case *ast.AutoLink:
		return w.autoLink(n), true
	case *ast.Link:
		return w.link(n, n.Destination), true
	case *ast.Image:
		return w.link(n, n.Destination), true
	}
	return Element{}, false
}

func (w *walker) link(n ast.Node, destination []byte) Element {
	e := w.links[n]
	e.Kind, e.URL, e.Nested = Link, strings.TrimSpace(decode(string(destination))), w.openLinks > 0
	return e
}

func (w *walker) autoLink(n *ast.AutoLink) Element {
	e := Element{Kind: AutoLink, URL: string(n.URL(w.source)), Nested: w.openLinks > 0}
	if n.AutoLinkType == ast.AutoLinkEmail {
		e.URL = "mailto:" + string(n.Label(w.source))
	} else if p := n.Pos(); p >= 0 && p < len(w.source) {
		e.Brackets = w.source[p] == '<'
	}
	return e
}

func (w *walker) text(n *ast.Text) {
	s := string(n.Segment.Value(w.source))
	if !n.IsRaw() {
		s = decode(s)
	}
	w.r.Text(s)
	if n.SoftLineBreak() || n.HardLineBreak() {
		w.r.Break(w.nextIndent(n.Segment.Stop))
	}
}

// nextIndent returns the indentation of the line after p. In lists and quotes it is "", because the
// indentation there belongs to the list or quote.
func (w *walker) nextIndent(p int) string {
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

// codeSpan returns the text of a code span in one line. In a table it unescapes the bars.
func (w *walker) codeSpan(n ast.Node) string {
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

func (w *walker) rawHTML(n *ast.RawHTML) {
	raw := w.linesOf(n.Segments)
	switch strings.ToLower(strings.ReplaceAll(raw, " ", "")) {
	case "<br>", "<br/>":
		w.r.Break("")
	default:
		w.plainLines(raw)
	}
}
