package screen

import "unicode/utf8"

// wrapper wraps lines at a new width.
type wrapper struct {
	cols    int
	widths  *widthCache
	tracked []trackedPosition
	lines   []line
	line    line // the line that is being filled
	col     int  // column of the next character
}

// trackedPosition is a position in the old lines that is translated to the new lines.
type trackedPosition struct {
	from position
	to   *position
	done bool
}

func (w *wrapper) wrap(lines []line) []line {
	w.lines = make([]line, 0, len(lines))
	for i := range lines {
		l := &lines[i]
		continued := i > 0 && lines[i-1].wrapped
		// No character has more columns than bytes.
		if !continued && !l.wrapped && len(l.text) <= w.cols {
			w.trackColumns(i, 0, maxSide+1)
			w.lines = append(w.lines, *l)
			continue
		}
		w.addLine(i, l)
		if !l.wrapped || i == len(lines)-1 {
			w.endLine(l.wrapped)
		}
	}
	return w.lines
}

// addLine appends the characters of old line i.
func (w *wrapper) addLine(i int, l *line) {
	col := 0
	for part := range l.styledTexts() {
		for text := part.text; len(text) > 0; {
			r, size := utf8.DecodeRune(text)
			width := 1
			if r >= utf8.RuneSelf {
				width = w.widths.width(r)
			}
			if w.col+width > w.cols && width <= w.cols {
				w.endLine(true)
			}
			w.trackColumns(i, col, col+width)
			if width <= w.cols {
				w.line.appendText(text[:size], part.pen)
				w.col += width
			}
			col += width
			text = text[size:]
		}
	}
	w.trackColumns(i, col, maxSide+1)
}

// trackColumns translates the tracked positions in the columns [col, end) of old line i to the
// position of the next character.
func (w *wrapper) trackColumns(i, col, end int) {
	for j := range w.tracked {
		m := &w.tracked[j]
		if !m.done && m.from.line == i && m.from.col >= col && m.from.col < end {
			m.done = true
			*m.to = position{len(w.lines), min(w.col+m.from.col-col, w.cols)}
		}
	}
}

func (w *wrapper) endLine(wrapped bool) {
	w.line.wrapped = wrapped
	w.lines = append(w.lines, w.line)
	w.line, w.col = line{}, 0
}

// appendText appends text in one style.
func (l *line) appendText(text []byte, p pen) {
	before := len(l.text)
	l.text = append(l.text, text...)
	n := len(l.styles)
	switch {
	case n == 0 && p == (pen{}):
	case n > 0 && l.styles[n-1].pen == p:
		l.styles[n-1].bytes += int32(len(text))
	default:
		if n == 0 && before > 0 {
			l.styles = append(l.styles, span{bytes: int32(before)})
		}
		l.styles = append(l.styles, span{p, int32(len(text))})
	}
}

// styledText is a part of a line in one style.
type styledText struct {
	text []byte
	pen  pen
}

// styledTexts iterates over the parts of the line by style.
func (l *line) styledTexts() func(yield func(styledText) bool) {
	return func(yield func(styledText) bool) {
		text := l.text
		for _, s := range l.styles {
			if !yield(styledText{text[:s.bytes], s.pen}) {
				return
			}
			text = text[s.bytes:]
		}
		if len(text) > 0 {
			yield(styledText{text, pen{}})
		}
	}
}

// decode writes a line into a blank row.
func (s *Screen) decode(l *line, r *row) {
	col := 0
	for part := range l.styledTexts() {
		for _, c := range string(part.text) {
			width := 1
			if c >= utf8.RuneSelf {
				width = s.widths.width(c)
			}
			switch {
			case width == 0:
				s.addMark(r, col, c)
				continue
			case col+width > len(r.cells):
				continue
			}
			r.cells[col] = cell{c, part.pen}
			if width == 2 {
				r.cells[col+1] = cell{wideTail, part.pen}
				r.wide = true
			}
			col += width
			r.used = col
		}
	}
	r.wrapped, r.styled = l.wrapped, true
}
