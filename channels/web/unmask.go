package web

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"nanobot/channels"
)

// unmask writes behind each link, and each picture that becomes one, where it leads if it shows
// another address.
type unmask struct{}

// Transform is called by goldmark when a text was read.
func (unmask) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || n.Type() != ast.TypeBlock || n.FirstChild() == nil || n.FirstChild().Type() != ast.TypeInline {
			return ast.WalkContinue, nil
		}
		unmaskBlock(n, reader.Source())
		return ast.WalkSkipChildren, nil
	})
}

// unmaskBlock looks at the links of one paragraph, heading or cell.
func unmaskBlock(block ast.Node, source []byte) {
	var shown strings.Builder // what people see of it
	var nodes []ast.Node
	var links []channels.Link
	begins := map[ast.Node]int{}
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		target, isLink := leadsTo(n)
		switch {
		case isLink && entering:
			begins[n] = shown.Len()
		case isLink:
			nodes = append(nodes, n)
			links = append(links, channels.Link{Start: begins[n], End: shown.Len(), Target: target})
		case entering:
			writeShown(&shown, n, source)
		}
		return ast.WalkContinue, nil
	})
	for i, note := range channels.Disguises(shown.String(), links) {
		if note != "" {
			nodes[i].Parent().InsertAfter(nodes[i].Parent(), nodes[i], ast.NewString([]byte(note)))
		}
	}
}

// leadsTo returns where a link or picture leads.
func leadsTo(n ast.Node) (target string, ok bool) {
	switch n := n.(type) {
	case *ast.Link:
		return string(util.URLEscape(n.Destination, true)), true // as it is rendered
	case *ast.Image:
		return string(util.URLEscape(n.Destination, true)), true
	}
	return "", false
}

// writeShown adds what people see of a node that has no children.
func writeShown(b *strings.Builder, n ast.Node, source []byte) {
	switch n := n.(type) {
	case *ast.Text:
		value := n.Segment.Value(source)
		if !n.IsRaw() {
			value = util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(value)))
		}
		b.Write(value)
		if n.SoftLineBreak() || n.HardLineBreak() {
			b.WriteByte('\n')
		}
	case *ast.String:
		b.Write(n.Value)
	case *ast.AutoLink:
		b.Write(n.Label(source))
	}
}
