package markdown

import (
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// Align is the alignment of a column.
type Align int

// The alignments.
const (
	AlignNone Align = iota
	AlignLeft
	AlignCenter
	AlignRight
)

// Table is a table. Its first row is the header, and every row has a cell for each column.
type Table struct {
	Gap    int // as in Element
	Aligns []Align
	Rows   [][]Cell
}

// Cell is one cell of a table.
type Cell struct {
	walker *walker
	node   ast.Node
}

// Empty reports whether the cell has no content.
func (c Cell) Empty() bool { return !c.node.HasChildren() }

// Walk reports the content of the cell to a renderer.
func (c Cell) Walk(r Renderer) {
	w := walker{source: c.walker.source, r: r, nested: 1, inTable: true}
	w.findLinks(c.node)
	w.inlines(c.node)
}

// Plain returns the text of the cell in one line.
func (c Cell) Plain() string {
	shown := &visibleText{collects: isNamedLink}
	c.Walk(shown)
	return strings.Join(strings.Fields(shown.text.String()), " ")
}

func (w *walker) table(n *extast.Table, gap int) {
	t := Table{Gap: gap}
	for _, a := range n.Alignments {
		t.Aligns = append(t.Aligns, map[extast.Alignment]Align{
			extast.AlignLeft: AlignLeft, extast.AlignCenter: AlignCenter, extast.AlignRight: AlignRight,
		}[a])
	}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []Cell
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, Cell{w, cell})
		}
		t.Rows = append(t.Rows, cells)
	}
	w.r.Table(t)
}

// grid draws a table with aligned columns and a line below the header, and returns its width. It
// does not draw a table that is wider than maxWidth.
func (t Table) grid(maxWidth int) (drawn string, width int) {
	rows := make([][]string, len(t.Rows))
	widths := make([]int, len(t.Aligns))
	for i, row := range t.Rows {
		for c, cell := range row {
			text := cell.Plain()
			rows[i] = append(rows[i], text)
			widths[c] = max(widths[c], uniseg.StringWidth(text))
		}
	}
	width = 3 * (len(widths) - 1)
	for _, w := range widths {
		width += w
	}
	if width > maxWidth {
		return "", width
	}
	var b strings.Builder
	for i, row := range rows {
		for c := range row {
			row[c] = pad(row[c], widths[c], t.Aligns[c])
		}
		b.WriteString(strings.TrimRight(strings.Join(row, " | "), " ") + "\n")
		if i == 0 {
			for c, w := range widths {
				row[c] = strings.Repeat("-", w)
			}
			b.WriteString(strings.Join(row, "-+-") + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n"), width
}

func pad(cell string, width int, a Align) string {
	n := max(width-uniseg.StringWidth(cell), 0)
	left := 0
	switch a {
	case AlignRight:
		left = n
	case AlignCenter:
		left = n / 2
	case AlignLeft, AlignNone:
	}
	return strings.Repeat(" ", left) + cell + strings.Repeat(" ", n-left)
}
