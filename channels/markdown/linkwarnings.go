package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"

	"nanobot/channels"
)

// findLinks finds the labels of the links of a block, and the warnings for those that show an
// address other than their target.
func (w *walker) findLinks(block ast.Node) {
	clear(w.links)
	var nodes []ast.Node
	for n := block.FirstChild(); n != nil; n = nextNode(n, block) {
		switch n.(type) {
		case *ast.Link, *ast.Image:
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return
	}
	shown := &visibleText{collects: isNamedLink}
	(&walker{source: w.source, r: shown, inTable: w.inTable, nested: 1}).inlines(block)
	if w.links == nil {
		w.links = map[ast.Node]Element{}
	}
	text := shown.text.String()
	for i, warning := range channels.LinkWarnings(text, shown.links) {
		l := shown.links[i]
		w.links[nodes[i]] = Element{Label: strings.TrimSpace(text[l.Start:l.End]), Warning: warning}
	}
}

// visibleText is a renderer that collects the visible text and its links, ordered by their start.
type visibleText struct {
	collects func(Element) bool // whether an element is one of the links
	text     strings.Builder
	links    []channels.Link
	open     []int
}

func (s *visibleText) Begin(e Element) {
	if s.collects(e) {
		s.open = append(s.open, len(s.links))
		s.links = append(s.links, channels.Link{Start: s.text.Len(), Target: e.URL})
	}
}

func (s *visibleText) End(e Element) {
	if s.collects(e) {
		last := len(s.open) - 1
		s.links[s.open[last]].End = s.text.Len()
		s.open = s.open[:last]
	}
}

func (s *visibleText) Text(words string) { s.text.WriteString(words) }

func (s *visibleText) Break(string) { s.text.WriteByte('\n') }

func (s *visibleText) Table(t Table) {
	for _, row := range t.Rows {
		for _, cell := range row {
			cell.Walk(s)
		}
	}
}

// isNamedLink reports whether an element is a link or an image with a text of its own.
func isNamedLink(e Element) bool { return e.Kind == Link }
