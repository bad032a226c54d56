package screen

// erasedPen returns the style of erased cells, which keep only the background colour.
func (s *Screen) erasedPen() pen { return pen{background: s.cursor.pen.background} }

// scrollUp scrolls the scroll region. On the main screen, lines that scroll out go to the
// scrollback, even if the region does not start at the top.
func (s *Screen) scrollUp(n int, p pen) {
	for range min(n, s.bottom-s.top+1) {
		if s.grid == s.main {
			s.history.push(s.grid.rows[s.top], &s.clusters)
		}
		s.grid.scrollUp(s.top, s.bottom, p)
	}
}

func (s *Screen) scrollDown(n int) {
	for range min(n, s.bottom-s.top+1) {
		s.grid.scrollDown(s.top, s.bottom, s.erasedPen())
	}
}

// insertLines is IL, deleteLines is DL. As in xterm and unlike tmux, they do nothing outside the
// scroll region, because programs expect that.
func (s *Screen) insertLines(n int) {
	if s.cursor.row < s.top || s.cursor.row > s.bottom {
		return
	}
	for range min(n, s.bottom-s.cursor.row+1) {
		s.grid.scrollDown(s.cursor.row, s.bottom, s.erasedPen())
	}
}

func (s *Screen) deleteLines(n int) {
	if s.cursor.row < s.top || s.cursor.row > s.bottom {
		return
	}
	for range min(n, s.bottom-s.cursor.row+1) {
		s.grid.scrollUp(s.cursor.row, s.bottom, s.erasedPen())
	}
}

// insertCharacters is ICH, deleteCharacters is DCH, eraseCharacters is ECH. They do nothing while
// the cursor is pending after the last column.
func (s *Screen) insertCharacters(n int) {
	if s.cursor.col < s.cols {
		s.grid.rows[s.cursor.row].insert(s.cursor.col, n, s.erasedPen())
	}
}

func (s *Screen) deleteCharacters(n int) {
	if s.cursor.col < s.cols {
		s.grid.rows[s.cursor.row].remove(s.cursor.col, n, s.erasedPen())
	}
}

func (s *Screen) eraseCharacters(n int) {
	if s.cursor.col < s.cols {
		s.grid.rows[s.cursor.row].erase(s.cursor.col, min(s.cursor.col+n, s.cols), s.erasedPen())
	}
}

// eraseInLine is EL. A cursor after the last column erases nothing: EL after a line that fills the
// row must not erase its last character.
func (s *Screen) eraseInLine(how int) {
	from, to := 0, s.cols
	switch how {
	case 0:
		from = s.cursor.col
	case 1:
		to = min(s.cursor.col+1, s.cols)
	case 2:
	default:
		return
	}
	if from == 0 && to == s.cols {
		s.eraseRows(s.cursor.row, s.cursor.row+1)
	} else if from < to {
		s.grid.rows[s.cursor.row].erase(from, to, s.erasedPen())
	}
}

// eraseInDisplay is ED.
func (s *Screen) eraseInDisplay(how int) {
	switch how {
	case 0:
		if s.cursor.col == 0 && s.cursor.row == 0 {
			s.eraseScreen()
			return
		}
		s.eraseInLine(0)
		s.eraseRows(s.cursor.row+1, s.rows)
	case 1:
		s.eraseRows(0, s.cursor.row)
		s.eraseInLine(1)
	case 2:
		s.eraseScreen()
	case 3:
		s.history.clear()
	}
}

func (s *Screen) eraseRows(from, to int) {
	s.grid.unwrapAbove(from)
	for _, r := range s.grid.rows[from:to] {
		r.reset(s.erasedPen())
	}
}

// eraseScreen erases the screen. On the main screen the lines go to the scrollback first, so that
// "clear" loses nothing unless it also sends ED 3.
func (s *Screen) eraseScreen() {
	if s.grid == s.main {
		last := s.rows
		for last > 0 && !s.grid.rows[last-1].hasText() {
			last--
		}
		for _, r := range s.grid.rows[:last] {
			s.history.push(r, &s.clusters)
		}
	}
	s.eraseRows(0, s.rows)
}

// alignmentTest is DECALN.
func (s *Screen) alignmentTest() {
	s.top, s.bottom = 0, s.rows-1
	s.cursor.col, s.cursor.row = 0, 0
	for _, r := range s.grid.rows {
		r.reset(pen{})
		for i := range r.cells {
			r.cells[i].rune = 'E'
		}
		r.used = s.cols
	}
}

// moveTo is CUP: an absolute position, from 0, in origin mode relative to the scroll region.
func (s *Screen) moveTo(col, row int) {
	s.cursor.col = min(col, s.cols-1)
	s.moveToRow(row)
}

func (s *Screen) moveToRow(row int) {
	if s.cursor.origin {
		s.cursor.row = min(row+s.top, s.bottom)
		return
	}
	s.cursor.row = min(row, s.rows-1)
}

// moveUp is CUU: it stops at the top of the scroll region, if the cursor was not above it.
func (s *Screen) moveUp(n int) {
	limit := 0
	if s.cursor.row >= s.top {
		limit = s.top
	}
	s.cursor.row = max(s.cursor.row-n, limit)
	s.cursor.col = min(s.cursor.col, s.cols-1)
}

// moveDown is CUD.
func (s *Screen) moveDown(n int) {
	limit := s.rows - 1
	if s.cursor.row <= s.bottom {
		limit = s.bottom
	}
	s.cursor.row = min(s.cursor.row+n, limit)
	s.cursor.col = min(s.cursor.col, s.cols-1)
}

// moveRight is CUF, moveLeft is CUB. CUB counts from after the last column if the cursor is there,
// so that the kernel's echo of a backspace erases the last typed character.
func (s *Screen) moveRight(n int) { s.cursor.col = min(s.cursor.col+n, s.cols-1) }

func (s *Screen) moveLeft(n int) { s.cursor.col = max(s.cursor.col-n, 0) }

// setRegion is DECSTBM, counted from 0, both inclusive.
func (s *Screen) setRegion(top, bottom int) {
	bottom = min(bottom, s.rows-1)
	if top >= bottom {
		return
	}
	s.top, s.bottom = top, bottom
	s.moveTo(0, 0)
}
