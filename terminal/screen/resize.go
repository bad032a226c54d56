package screen

// Resize changes the dimensions, clamped as in New. Wrapped lines of the main screen are wrapped
// again at the new width, and the line of the cursor stays visible. The alternate screen is only
// cropped or extended, because its program draws it again.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = clampSide(cols), clampSide(rows)
	if cols == s.cols && rows == s.rows {
		return
	}
	main, alternate := &s.cursor, s.Alternate()
	if alternate {
		main = &s.savedMain
		if !s.hasSavedMain { // without a saved cursor, assume the last row
			main = &cursor{row: s.rows - 1}
		}
		s.alternate = s.crop(s.alternate, cols, rows)
		s.grid = s.alternate
	} else {
		s.alternate = nil
	}
	s.resizeTabs(cols)
	s.reflow(cols, rows, main)
	if !alternate {
		s.grid = s.main
	}
	s.cols, s.rows = cols, rows
	s.top, s.bottom = 0, rows-1
	s.cursor.row = min(s.cursor.row, rows-1)
	s.cursor.col = min(s.cursor.col, cols)
}

func (s *Screen) resizeTabs(cols int) {
	old := s.tabs
	tabs := make([]bool, cols)
	for i := copy(tabs, old); i < cols; i++ {
		tabs[i] = i%8 == 0
	}
	s.tabs = tabs
}

// crop returns the alternate screen at another size. Rows at the top are dropped if the cursor
// would be below the last row.
func (s *Screen) crop(g *grid, cols, rows int) *grid {
	n := newGrid(cols, rows)
	skip := max(0, s.cursor.row-(rows-1))
	s.cursor.row -= skip
	for i, to := range n.rows {
		if i+skip >= len(g.rows) {
			break
		}
		from := g.rows[i+skip]
		if cols < len(from.cells) {
			from.splitWide(cols)
		}
		copy(to.cells, from.cells)
		to.used, to.wide, to.styled = min(from.used, cols), from.wide, from.styled
	}
	return n
}

// position is a position in lines, by index and column.
type position struct {
	line, col int
}

// reflow wraps the scrollback and the main screen again and moves the cursor c with its character.
func (s *Screen) reflow(cols, rows int, c *cursor) {
	content := s.rows
	for content > c.row+1 && s.main.rows[content-1].used == 0 {
		content--
	}
	full := content == s.rows
	lines := make([]line, s.history.count+content)
	for i := range s.history.count {
		lines[i] = *s.history.at(i)
	}
	for i, r := range s.main.rows[:content] {
		lines[s.history.count+i].encode(r, &s.clusters)
	}
	top := position{line: s.history.count}
	at := position{s.history.count + c.row, c.col}
	if cols != s.cols {
		marks := []trackedPosition{{from: top, to: &top}, {from: at, to: &at}}
		w := wrapper{cols: cols, widths: &s.widths, tracked: marks}
		lines = w.wrap(lines)
	}
	// The first visible line stays the same. A screen that was full also shows more of the
	// scrollback if there is room.
	first := top.line
	if n := len(lines) - first; n > rows {
		first = min(len(lines)-rows, at.line) // lines below a cursor at the top are lost
	} else if full {
		first = max(0, len(lines)-rows)
	}
	s.main = newGrid(cols, rows)
	for i, l := range lines[first:min(first+rows, len(lines))] {
		s.decode(&l, s.main.rows[i])
	}
	s.history.clear()
	for _, l := range lines[:first] {
		slot := s.history.nextSlot()
		*slot = l
		s.history.addSlot(slot)
	}
	c.row, c.col = at.line-first, at.col
}
