package entities

import (
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

const (
	// A phone shows some 40 monospace characters in a line and wraps the rest, a desktop twice as
	// many.
	maxTableWidth = 60
	// Beyond so many cells the names of the columns are not repeated with every cell.
	maxLabelled   = 500
	maxLabelWidth = 40
)

// table writes a table in monospace. One that is too wide for that is written as a paragraph for
// each row, or as a line for each row if it is long as well.
func (w *writer) table(n *extast.Table) {
	w.ownLine()
	var rows [][]string
	cells := 0
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var r []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			r = append(r, w.cell(cell))
		}
		cells += len(r)
		rows = append(rows, r)
	}
	widths := columnWidths(rows)
	total := 3 * (len(widths) - 1)
	for _, width := range widths {
		total += width
	}
	switch {
	case total <= maxTableWidth:
		w.pre(grid(rows, widths, n.Alignments), "")
	case cells <= maxLabelled:
		w.records(n, rows[0])
	default:
		w.tableLines(n)
	}
}

// cell returns the plain text of a cell, in one line.
func (w *writer) cell(n ast.Node) string {
	c := newWriter(w.source)
	c.inTable, c.nested = true, 1
	c.inlines(n)
	return strings.Join(strings.Fields(string(c.out)), " ")
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	return widths
}

// grid draws rows with aligned columns and a line below the first.
func grid(rows [][]string, widths []int, alignments []extast.Alignment) string {
	var b strings.Builder
	for i, row := range rows {
		line := make([]string, 0, len(row))
		for c, cell := range row {
			line = append(line, pad(cell, widths[c], alignments[min(c, len(alignments)-1)]))
		}
		b.WriteString(strings.TrimRight(strings.Join(line, " | "), " "))
		b.WriteByte('\n')
		if i == 0 {
			line = line[:0]
			for _, width := range widths {
				line = append(line, strings.Repeat("-", width))
			}
			b.WriteString(strings.Join(line, "-+-"))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func pad(cell string, width int, a extast.Alignment) string {
	n := max(width-uniseg.StringWidth(cell), 0)
	left := 0
	switch a {
	case extast.AlignRight:
		left = n
	case extast.AlignCenter:
		left = n / 2
	case extast.AlignLeft, extast.AlignNone:
	}
	return strings.Repeat(" ", left) + cell + strings.Repeat(" ", n-left)
}

// records writes each row as its first cell in bold, and the others below it behind the names of
// their columns.
func (w *writer) records(n *extast.Table, names []string) {
	w.inTable = true
	defer func() { w.inTable = false }()
	head := n.FirstChild()
	if head.NextSibling() == nil {
		w.tableLine(head)
	}
	for row := head.NextSibling(); row != nil; row = row.NextSibling() {
		if row != head.NextSibling() {
			w.gap(2)
		}
		i := 0
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			w.field(cell, i, names)
			i++
		}
	}
}

func (w *writer) field(cell ast.Node, i int, names []string) {
	if !cell.HasChildren() {
		return
	}
	w.gap(1)
	if i == 0 {
		w.depth[bold]++
		defer func() { w.depth[bold]-- }()
	} else if i < len(names) && names[i] != "" && uniseg.StringWidth(names[i]) <= maxLabelWidth {
		w.write("• " + names[i] + ": ")
	} else {
		w.write("• ")
	}
	w.inlines(cell)
}

// tableLines writes each row in a line.
func (w *writer) tableLines(n *extast.Table) {
	w.inTable = true
	defer func() { w.inTable = false }()
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		w.gap(1)
		w.tableLine(row)
	}
}

func (w *writer) tableLine(row ast.Node) {
	if _, ok := row.(*extast.TableHeader); ok {
		w.depth[bold]++
		defer func() { w.depth[bold]-- }()
	}
	for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
		if cell != row.FirstChild() {
			w.write(" | ")
		}
		w.inlines(cell)
	}
}
