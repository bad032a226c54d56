package screen

import "bytes"

const (
	maxHistory = 10_000
	// maxHistoryBytes limits the scrollback of hostile output, in which every cell has another
	// style and many combining marks. 10,000 lines of 200 plain characters take 2.5 MB.
	maxHistoryBytes = 16 << 20
)

// line is a row in the scrollback: its text and its styles.
type line struct {
	text    []byte
	styles  []span // empty if the whole line has the default style
	wrapped bool   // the next line continues this one; only such lines have trailing blanks
}

// span is a number of bytes in one style.
type span struct {
	pen   pen
	bytes int32
}

const (
	spanBytes = 16
	lineBytes = 56
)

func (l *line) size() int { return cap(l.text) + spanBytes*cap(l.styles) + lineBytes }

// history is the scrollback: a ring of lines that grows up to maxHistory.
type history struct {
	lines []line
	first int // index of the oldest line
	count int
	bytes int
}

// at returns line i; count is the slot after the newest line. It avoids the remainder operator,
// which would dominate the time to scroll a short line.
func (h *history) at(i int) *line {
	i += h.first
	if i >= len(h.lines) {
		i -= len(h.lines)
	}
	return &h.lines[i]
}

// dropFirst drops the oldest line.
func (h *history) dropFirst() {
	h.first++
	if h.first == len(h.lines) {
		h.first = 0
	}
	h.count--
}

// push appends a row as the newest line.
func (h *history) push(r *row, c *clusters) {
	l := h.nextSlot()
	l.encode(r, c)
	h.addSlot(l)
}

// nextSlot returns a line to be overwritten: a new one, or the oldest if the ring is full. Its
// memory is reused, so that a flood of output hardly allocates.
func (h *history) nextSlot() *line {
	switch {
	case h.count == maxHistory:
		h.dropFirst()
	case h.count == len(h.lines):
		h.grow()
	}
	l := h.at(h.count)
	h.bytes -= l.size()
	return l
}

// grow enlarges the ring, which is full.
func (h *history) grow() {
	lines := make([]line, min(max(2*len(h.lines), 64), maxHistory))
	for i := range h.count {
		lines[i] = *h.at(i)
	}
	h.bytes += lineBytes * (len(lines) - len(h.lines))
	h.lines, h.first = lines, 0
}

// addSlot adds the line that nextSlot returned, and drops the oldest lines while the total is too
// large.
func (h *history) addSlot(l *line) {
	h.bytes += l.size()
	h.count++
	for h.bytes > maxHistoryBytes && h.count > 1 {
		oldest := h.at(0)
		h.bytes -= oldest.size() - lineBytes
		*oldest = line{}
		h.dropFirst()
	}
}

func (h *history) clear() { *h = history{} }

// encode replaces the line by a row.
func (l *line) encode(r *row, c *clusters) {
	n := r.used
	if !r.wrapped {
		n = r.trimmed()
	}
	l.wrapped = r.wrapped && n >= len(r.cells)-1 // false if its end was erased

	// A short line must not keep the memory of a long one.
	if cap(l.text) > 4*n+64 {
		l.text = nil
	}
	l.text, l.styles = l.text[:0], l.styles[:0]
	if cap(l.text) < n {
		l.text = make([]byte, 0, n)
	}
	if r.styled {
		l.encodeRich(r.cells[:n], c)
		return
	}
	l.text, l.styles = l.text[:n], nil
	for i := range l.text {
		b := byte(r.cells[i].rune)
		if b == byte(blankCell) {
			b = ' '
		}
		l.text[i] = b
	}
}

func (l *line) encodeRich(cells []cell, c *clusters) {
	start, current := 0, pen{}
	for i := range cells {
		cell := &cells[i]
		if cell.pen != current {
			l.endSpan(start, current)
			start, current = len(l.text), cell.pen
		}
		l.text = c.appendCell(l.text, cell.rune)
	}
	if len(l.styles) > 0 || current != (pen{}) {
		l.endSpan(start, current)
	} else {
		l.styles = nil
	}
}

func (l *line) endSpan(start int, p pen) {
	if n := len(l.text) - start; n > 0 {
		l.styles = append(l.styles, span{p, int32(n)})
	}
}

// appendText appends all lines to text, each with a newline and without trailing blanks.
func (h *history) appendText(text []byte) []byte {
	for i := range h.count {
		text = append(text, bytes.TrimRight(h.at(i).text, " ")...)
		text = append(text, '\n')
	}
	return text
}
