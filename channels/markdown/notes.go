package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"

	"nanobot/channels"
)

// findNotes finds the links of a block that show another address than their target.
func (w *walker) findNotes(block ast.Node) {
	clear(w.notes)
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
	shown := &shownWords{}
	(&walker{source: w.source, r: shown, inTable: w.inTable, nested: 1}).inlines(block)
	if w.notes == nil {
		w.notes = map[ast.Node]string{}
	}
	for i, note := range channels.LinkWarnings(shown.text.String(), shown.links) {
		if note != "" {
			w.notes[nodes[i]] = note
		}
	}
}

// shownWords is a renderer that collects the visible text of a block and its links, in the order of
// their starts.
type shownWords struct {
	text  strings.Builder
	links []channels.Link
	open  []int
}

func (s *shownWords) Begin(e Element) {
	if e.Kind == Link {
		s.open = append(s.open, len(s.links))
		s.links = append(s.links, channels.Link{Start: s.text.Len(), Target: e.URL})
	}
}

func (s *shownWords) End(e Element) {
	if e.Kind == Link {
		last := len(s.open) - 1
		s.links[s.open[last]].End = s.text.Len()
		s.open = s.open[:last]
	}
}

func (s *shownWords) Text(words string) { s.text.WriteString(words) }

func (s *shownWords) Break(string) { s.text.WriteByte('\n') }

func (*shownWords) Table(Table) {}
