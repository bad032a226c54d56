package screen

import (
	"slices"
	"unicode/utf8"
)

// A cell's rune is a character, or one of these.
const (
	blankCell   rune = 0                // erased, or never written
	wideTail    rune = -1               // the second column of a wide character
	clusterBase rune = utf8.MaxRune + 1 // and above: an index into clusters
)

// cell is one column of a row. It has no pointers, so that copying and clearing rows is cheap.
type cell struct {
	rune rune
	pen  pen
}

// row is one line of a grid.
type row struct {
	cells   []cell
	used    int  // cells from here on are blank
	wide    bool // may contain wide characters
	styled  bool // may contain styles or non-ASCII characters
	wrapped bool // the next row continues this one
}

// grid is a screenful of rows. The rows are a window into a buffer of twice the size, so that
// scrolling the whole screen does not move each row.
type grid struct {
	rows   []*row
	buffer []*row
}

func newGrid(cols, rows int) *grid {
	g := &grid{buffer: make([]*row, 2*rows)}
	g.rows = g.buffer[:rows]
	cells := make([]cell, cols*rows)
	for i := range g.rows {
		g.rows[i] = &row{cells: cells[i*cols : (i+1)*cols : (i+1)*cols]}
	}
	return g
}

// erase blanks the columns [from, to) in the given style. A wide character that is half inside
// becomes blank.
func (r *row) erase(from, to int, p pen) {
	r.splitWide(from)
	r.splitWide(to)
	if p == (pen{}) {
		to = min(to, r.used)
		if from >= to {
			return
		}
		clear(r.cells[from:to])
		if to == r.used {
			r.used = from
		}
		if r.used == 0 {
			r.wide, r.styled = false, false
		}
		return
	}
	for i := from; i < to; i++ {
		r.cells[i] = cell{pen: p}
	}
	r.used = max(r.used, to)
	r.styled = true
}

// splitWide blanks the wide character that covers both col-1 and col.
func (r *row) splitWide(col int) {
	if !r.wide || col <= 0 || col >= len(r.cells) || r.cells[col].rune != wideTail {
		return
	}
	r.cells[col-1], r.cells[col] = cell{}, cell{}
}

// insert shifts the columns from col on to the right by n. Columns that leave the row are lost.
func (r *row) insert(col, n int, p pen) {
	n = min(n, len(r.cells)-col)
	r.splitWide(col)
	r.splitWide(len(r.cells) - n)
	copy(r.cells[col+n:], r.cells[col:len(r.cells)-n])
	if r.used > col {
		r.used = min(r.used+n, len(r.cells))
	}
	for i := col; i < col+n; i++ {
		r.cells[i] = cell{pen: p}
	}
	if p != (pen{}) {
		r.used, r.styled = max(r.used, col+n), true
	}
}

// remove shifts the columns after col+n to the left by n.
func (r *row) remove(col, n int, p pen) {
	n = min(n, len(r.cells)-col)
	r.splitWide(col)
	r.splitWide(col + n)
	copy(r.cells[col:], r.cells[col+n:])
	tail := r.cells[len(r.cells)-n:]
	for i := range tail {
		tail[i] = cell{pen: p}
	}
	switch {
	case p != (pen{}):
		r.used, r.styled = len(r.cells), true
	case r.used > col:
		r.used = max(col, r.used-n)
	}
}

// trimmed returns the number of columns without trailing blanks in the default style.
func (r *row) trimmed() int {
	n := r.used
	for n > 0 && (r.cells[n-1] == cell{} || r.cells[n-1] == cell{rune: ' '}) {
		n--
	}
	return n
}

// hasText reports whether the row contains a character, including spaces.
func (r *row) hasText() bool {
	return slices.ContainsFunc(r.cells[:r.used], func(c cell) bool { return c.rune != blankCell })
}

// scrollUp moves the rows from top to bottom, inclusive, up by one. The first row is reused as the
// blank last row.
func (g *grid) scrollUp(top, bottom int, p pen) {
	g.unwrapAbove(top)
	first := g.rows[top]
	if top == 0 && bottom == len(g.rows)-1 {
		g.slideWindow()
	} else {
		copy(g.rows[top:bottom], g.rows[top+1:bottom+1])
	}
	g.rows[bottom] = first
	first.reset(p)
}

// slideWindow moves the window by one row.
func (g *grid) slideWindow() {
	n := len(g.rows)
	if cap(g.rows) == n {
		copy(g.buffer, g.rows)
		g.rows = g.buffer[:n]
	}
	g.rows = g.rows[1 : n+1]
}

// scrollDown is the reverse of scrollUp.
func (g *grid) scrollDown(top, bottom int, p pen) {
	g.unwrapAbove(top)
	last := g.rows[bottom]
	copy(g.rows[top+1:bottom+1], g.rows[top:bottom])
	g.rows[top] = last
	last.reset(p)
}

// unwrapAbove records that the row at top no longer continues the one above.
func (g *grid) unwrapAbove(top int) {
	if top > 0 {
		g.rows[top-1].wrapped = false
	}
}

// reset makes the row blank.
func (r *row) reset(p pen) {
	clear(r.cells[:r.used])
	r.used, r.wide, r.styled, r.wrapped = 0, false, false, false
	if p != (pen{}) {
		r.erase(0, len(r.cells), p)
	}
}
