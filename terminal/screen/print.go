package screen

import "unicode/utf8"

// lineDrawing are the characters from _ to ~ in DEC's line drawing set.
var lineDrawing = [...]rune{
	' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
	'⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// printASCII prints characters from space to ~.
func (s *Screen) printASCII(text []byte) {
	if s.modes.insert || !s.modes.wrap || s.cursor.graphics[s.cursor.shift] {
		for _, b := range text {
			s.print(s.translate(b))
		}
		return
	}
	s.last = rune(text[len(text)-1])
	p := s.cursor.pen
	for len(text) > 0 {
		if s.cursor.col >= s.cols {
			s.wrap()
		}
		r := s.grid.rows[s.cursor.row]
		from := s.cursor.col
		n := min(len(text), s.cols-from)
		if r.wide {
			r.splitWide(from)
			r.splitWide(from + n)
		}
		cells := r.cells[from : from+n]
		for i, b := range text[:n] {
			cells[i] = cell{rune: rune(b), pen: p}
		}
		s.cursor.col = from + n
		r.used = max(r.used, from+n)
		r.styled = r.styled || p != (pen{})
		text = text[n:]
	}
}

func (s *Screen) translate(b byte) rune {
	if b >= '_' && b <= '~' && s.cursor.graphics[s.cursor.shift] {
		return lineDrawing[b-'_']
	}
	return rune(b)
}

// print prints one character of any width.
func (s *Screen) print(r rune) {
	w := 1
	if r >= 0x7f {
		w = s.widths.width(r)
	}
	if w == 0 {
		if isCombining(r) {
			s.combine(r)
		}
		return
	}
	if w > s.cols {
		return
	}
	s.last = r
	if s.cursor.col+w > s.cols {
		if !s.modes.wrap {
			s.cursor.col = s.cols - w
		} else {
			s.wrap()
		}
	}
	line, col := s.grid.rows[s.cursor.row], s.cursor.col
	if s.modes.insert {
		line.insert(col, w, pen{})
	}
	line.splitWide(col)
	line.splitWide(col + w)
	line.cells[col] = cell{rune: r, pen: s.cursor.pen}
	if w == 2 {
		line.cells[col+1] = cell{rune: wideTail, pen: s.cursor.pen}
		line.wide = true
	}
	line.used = max(line.used, col+w)
	line.styled = line.styled || r >= utf8.RuneSelf || s.cursor.pen != (pen{})
	s.cursor.col += w
	if !s.modes.wrap {
		s.cursor.col = min(s.cursor.col, s.cols-1)
	}
}

// wrap moves to the next line. If that scrolls, the new line has the default background.
func (s *Screen) wrap() {
	s.grid.rows[s.cursor.row].wrapped = true
	s.index(pen{})
	s.cursor.col = 0
}

// repeat is REP. As in tmux, it stops at the end of the line.
func (s *Screen) repeat(n int) {
	if s.last == 0 {
		return
	}
	last := s.last
	for range min(n, s.cols-s.cursor.col) {
		s.print(last)
	}
}

// lineFeed is LF, VT and FF. A wrapped line stays wrapped, because editors move down with LF.
func (s *Screen) lineFeed() {
	s.index(s.erasedPen())
	if s.modes.newline {
		s.cursor.col = 0
	}
}

// index is IND: it moves down and scrolls at the bottom of the scroll region, where p
// is the style of the new line.
func (s *Screen) index(p pen) {
	switch {
	case s.cursor.row == s.bottom:
		s.scrollUp(1, p)
	case s.cursor.row < s.rows-1:
		s.cursor.row++
	}
}

// reverseIndex is RI.
func (s *Screen) reverseIndex() {
	switch {
	case s.cursor.row == s.top:
		s.grid.scrollDown(s.top, s.bottom, s.erasedPen())
	case s.cursor.row > 0:
		s.cursor.row--
	}
}

// backspace is BS. At the start of a line that continues the one above, it moves to the end of that
// line.
func (s *Screen) backspace() {
	if s.cursor.col > 0 {
		s.cursor.col--
		return
	}
	if s.cursor.row > 0 && s.grid.rows[s.cursor.row-1].wrapped {
		s.cursor.row--
		s.cursor.col = s.cols - 1
	}
}

// tab is HT and CHT.
func (s *Screen) tab(n int) {
	for ; n > 0 && s.cursor.col < s.cols-1; n-- {
		s.cursor.col++
		for s.cursor.col < s.cols-1 && !s.tabs[s.cursor.col] {
			s.cursor.col++
		}
	}
}

// backTab is CBT.
func (s *Screen) backTab(n int) {
	s.cursor.col = min(s.cursor.col, s.cols-1)
	for ; n > 0 && s.cursor.col > 0; n-- {
		s.cursor.col--
		for s.cursor.col > 0 && !s.tabs[s.cursor.col] {
			s.cursor.col--
		}
	}
}
