package screen

// Size returns the dimensions of the screen.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Cursor returns the position of the cursor, and whether it is visible.
func (s *Screen) Cursor() (col, row int, visible bool) {
	n := s.Snapshot()
	return n.CursorCol, n.CursorRow, n.CursorVisible
}

// BracketedPaste reports whether mode 2004 is set.
func (s *Screen) BracketedPaste() bool { return s.modes.bracketedPaste }
