package screen

// Resize changes the dimensions, clamped as in New. Lines of the main screen that were wrapped are
// wrapped anew at the new width, and the line of the cursor stays visible. The alternate screen is
// only cut or extended, because the program that shows it draws it again.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = clampSide(cols), clampSide(rows)
	if cols == s.cols && rows == s.rows {
		return
	}
	s.version++
	main, alternate := &s.cursor, s.Alternate()
	if alternate {
		main = &s.savedMain
		if !s.hasSavedMain { // the last row is as good as any
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

// crop returns the alternate screen at another size. If the cursor would be below the last row,
// rows at the top are lost.
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
			from.split(cols)
		}
		copy(to.cells, from.cells)
		to.used, to.wide, to.rich = min(from.used, cols), from.wide, from.rich
	}
	return n
}

// place is a position in lines, by index and column.
type place struct {
	line, col int
}

// reflow wraps the scrollback and the main screen anew and moves the cursor c with its character.
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
	top := place{line: s.history.count}
	at := place{s.history.count + c.row, c.col}
	if cols != s.cols {
		marks := []mark{{from: top, to: &top}, {from: at, to: &at}}
		w := wrapper{cols: cols, widths: &s.widths, marks: marks}
		lines = w.wrap(lines)
	}
	// The screen shows what it showed, and more of the scrollback if it was full and there is room.
	first := top.line
	if n := len(lines) - first; n > rows {
		first = min(len(lines)-rows, at.line) // what is below a cursor at the top is lost
	} else if full {
		first = max(0, len(lines)-rows)
	}
	s.main = newGrid(cols, rows)
	for i, l := range lines[first:min(first+rows, len(lines))] {
		s.decode(&l, s.main.rows[i])
	}
	s.history.clear()
	for _, l := range lines[:first] {
		slot := s.history.slot()
		*slot = l
		s.history.account(slot)
	}
	c.row, c.col = at.line-first, at.col
}
