package screen

import "unicode/utf8"

// wrapper wraps lines at another width.
type wrapper struct {
	cols   int
	widths *widthCache
	marks  []mark
	lines  []line
	line   line // being filled
	col    int  // where the next character goes
}

// mark is a place in the old lines whose place in the new lines is wanted.
type mark struct {
	from place
	to   *place
	done bool
}

func (w *wrapper) wrap(lines []line) []line {
	w.lines = make([]line, 0, len(lines))
	for i := range lines {
		l := &lines[i]
		continued := i > 0 && lines[i-1].wrapped
		// No character has more columns than bytes.
		if !continued && !l.wrapped && len(l.text) <= w.cols {
			w.resolve(i, 0, maxSide+1)
			w.lines = append(w.lines, *l)
			continue
		}
		w.add(i, l)
		if !l.wrapped || i == len(lines)-1 {
			w.finish(l.wrapped)
		}
	}
	return w.lines
}

// add appends the characters of old line i.
func (w *wrapper) add(i int, l *line) {
	col := 0
	for part := range l.parts() {
		for text := part.text; len(text) > 0; {
			r, size := utf8.DecodeRune(text)
			width := 1
			if r >= utf8.RuneSelf {
				width = w.widths.width(r)
			}
			if w.col+width > w.cols && width <= w.cols {
				w.finish(true)
			}
			w.resolve(i, col, col+width)
			if width <= w.cols {
				w.line.appendText(text[:size], part.pen)
				w.col += width
			}
			col += width
			text = text[size:]
		}
	}
	w.resolve(i, col, maxSide+1)
}

// resolve finds the marks of old line i in the columns from col to end, exclusive, which go where
// the next character goes.
func (w *wrapper) resolve(i, col, end int) {
	for j := range w.marks {
		m := &w.marks[j]
		if !m.done && m.from.line == i && m.from.col >= col && m.from.col < end {
			m.done = true
			*m.to = place{len(w.lines), min(w.col+m.from.col-col, w.cols)}
		}
	}
}

func (w *wrapper) finish(wrapped bool) {
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

// part is a piece of a line in one style.
type part struct {
	text []byte
	pen  pen
}

// parts iterates over the line by style.
func (l *line) parts() func(yield func(part) bool) {
	return func(yield func(part) bool) {
		text := l.text
		for _, s := range l.styles {
			if !yield(part{text[:s.bytes], s.pen}) {
				return
			}
			text = text[s.bytes:]
		}
		if len(text) > 0 {
			yield(part{text, pen{}})
		}
	}
}

// decode writes a line to a blank row.
func (s *Screen) decode(l *line, r *row) {
	col := 0
	for part := range l.parts() {
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
	r.wrapped, r.rich = l.wrapped, true
}
