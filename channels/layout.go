package channels

import "strings"

// layout is what the splitter knows of a Markdown text: what must not be cut, and what must be
// closed and opened again. Each list is in order and free of overlaps.
type layout struct {
	spans  []span // stays whole; none measures more than a part
	fences []fence
	tables []table
}

// layouter reads a text line by line, once.
type layouter struct {
	layout
	ruler
	max      int
	para     int         // where the paragraph being read starts, or -1
	ticks    map[int]int // in the paragraph: the last run of backticks of each length
	brackets []bracket
}

func newLayout(text string, most int, measure Measure) layout {
	l := &layouter{
		ruler: ruler{text: text, measure: measure},
		max:   most,
		para:  -1,
		ticks: map[int]int{},
	}
	for p := 0; p < len(text); {
		p = l.line(p)
	}
	l.endParagraph(len(text))
	return l.layout
}

// line reads the line at p, with the fence or table that starts there, and returns where the next
// starts.
func (l *layouter) line(p int) int {
	end := lineEnd(l.text, p)
	next := min(end+1, len(l.text))
	if h, ok := readFenceHead(l.text[p:]); ok {
		if n, ok := l.addFence(p, end, h); ok {
			return n
		}
	}
	if n, ok := l.addTable(p, end); ok {
		return n
	}
	switch line := l.text[p:end]; {
	case strings.TrimSpace(line) == "":
		l.endParagraph(p)
	case isHeading(line):
		l.endParagraph(p)
		l.inline(p, end)
	case markerLen(strings.TrimLeft(line, " \t>")) > 0:
		l.endParagraph(p)
		l.para = p
	case l.para < 0:
		l.para = p
	}
	return next
}

// endParagraph looks for what must stay whole in the paragraph read so far. Neither code spans nor
// links reach beyond one.
func (l *layouter) endParagraph(p int) {
	if l.para >= 0 {
		l.inline(l.para, p)
		l.para = -1
	}
}

// keep has a stretch stay whole if it fits a part, in place of what it holds. from is the measure
// of the text before it.
func (l *layouter) keep(s span, from int) {
	if l.to(s.end)-from > l.max {
		return
	}
	n := len(l.spans)
	for n > 0 && l.spans[n-1].start >= s.start {
		n--
	}
	l.spans = append(l.spans[:n], s)
}

// addFence reads a fence up to its closing line. It declines one whose lines would take more than
// half of a part: cutting that as text is the lesser evil.
func (l *layouter) addFence(p, end int, h fenceHead) (int, bool) {
	f := fence{mark: h.run[0], reopen: h.lead + h.run + h.info, shut: "\n" + h.lead + h.run, body: end + 1}
	if h.depth > 0 {
		f.quote = h.lead
	}
	if l.frame(&f) > l.max/2 {
		// A head too long to be repeated may be cut behind the fence itself.
		f.body = p + len(h.lead) + len(h.run) + 1
		f.reopen = h.lead + h.run
	}
	if l.frame(&f) > l.max/2 {
		return 0, false
	}
	l.endParagraph(p)
	for q := end + 1; q < len(l.text); {
		e := lineEnd(l.text, q)
		if _, ok := unquote(l.text[q:e], h.depth); !ok {
			f.span, f.tail = span{p, beforeCR(l.text, q-1)}, len(l.text)+1
			l.fences = append(l.fences, f)
			return q, true
		}
		// A closing line too long for half a part is code like any other.
		if h.shutBy(l.text[q:e]) && l.measure(l.text[q:e]) <= l.max/2 {
			f.span, f.tail = span{p, beforeCR(l.text, e)}, q
			l.fences = append(l.fences, f)
			return min(e+1, len(l.text)), true
		}
		q = e + 1
	}
	f.span, f.tail = span{p, len(l.text)}, len(l.text)+1
	l.fences = append(l.fences, f)
	return len(l.text), true
}

// frame measures what a fence adds to a part that starts and ends inside it.
func (l *layouter) frame(f *fence) int {
	return l.measure(f.reopen + "\n" + f.quote + f.shut)
}

func lineEnd(text string, p int) int {
	if i := strings.IndexByte(text[p:], '\n'); i >= 0 {
		return p + i
	}
	return len(text)
}

// beforeCR returns the end of the line whose line feed is at p. A carriage return belongs to the
// line break: both together are one cluster.
func beforeCR(text string, p int) int {
	if p > 0 && p < len(text) && text[p-1] == '\r' {
		return p - 1
	}
	return p
}

// isHeading tells whether text starts with a line of the form "# Heading".
func isHeading(text string) bool {
	i := indentLen(text)
	n := i
	for n < len(text) && n-i < 7 && text[n] == '#' {
		n++
	}
	return n > i && n-i < 7 && (n == len(text) || strings.IndexByte(" \t\r\n", text[n]) >= 0)
}

// indentLen counts the spaces a line starts with, up to the three a Markdown block may be indented
// by.
func indentLen(text string) int {
	i := 0
	for i < len(text) && i < 3 && text[i] == ' ' {
		i++
	}
	return i
}
