package channels

import "strings"

// span is a stretch of text, from its first byte to behind its last.
type span struct{ start, end int }

// fence is a fenced code block, from the start of its head line to the end of its closing line, or
// of the text when nothing closes it.
type fence struct {
	span
	body   int    // the first place behind the head where a part may end
	tail   int    // where the closing line starts; behind the end when there is none
	reopen string // the line that starts the next part
	shut   string // what closes a part, with the line break before it
	quote  string // what a line inside a quote starts with
	mark   byte
}

// The longest run of spaces, quote marks and list markers that may stand before a fence.
const maxLead = 64

// fenceHead is the line that opens a fence, taken apart.
type fenceHead struct {
	lead  string // what stands before the fence, list markers as spaces
	run   string
	info  string
	depth int // how many quotes the fence stands in
}

// readFenceHead takes apart the line that text starts with. Any indentation will do, unlike in
// CommonMark: below a list item it depends on the item, and Discord does not look at it.
func readFenceHead(text string) (fenceHead, bool) {
	i := leadEnd(text)
	n := runLen(text[i:])
	if n < 3 || text[i] != '`' && text[i] != '~' {
		return fenceHead{}, false
	}
	info, _, _ := strings.Cut(text[i+n:], "\n")
	if text[i] == '`' && strings.Contains(info, "`") {
		return fenceHead{}, false
	}
	lead := strings.Map(func(r rune) rune {
		if r == '\t' || r == '>' {
			return r
		}
		return ' '
	}, text[:i])
	return fenceHead{
		lead:  lead,
		run:   text[i : i+n],
		info:  strings.TrimRight(info, " \t\r"),
		depth: strings.Count(lead, ">"),
	}, true
}

// leadEnd skips indentation, quote marks and list markers.
func leadEnd(text string) int {
	i := 0
	for i < len(text) && i < maxLead {
		if text[i] == ' ' || text[i] == '\t' || text[i] == '>' {
			i++
			continue
		}
		n := markerLen(text[i:])
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

// markerLen returns the length of the list marker that text starts with, or 0. The blank behind it
// belongs to it.
func markerLen(text string) int {
	i := 0
	for i < len(text) && i < 9 && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	switch {
	case i+1 >= len(text):
		return 0
	case i == 0 && text[0] != '-' && text[0] != '*' && text[0] != '+':
		return 0
	case i > 0 && text[i] != '.' && text[i] != ')':
		return 0
	case text[i+1] != ' ' && text[i+1] != '\t':
		return 0
	}
	return i + 2
}

// runLen counts how often the first byte of text is repeated at its start, itself included.
func runLen(text string) int {
	n := 0
	for n < len(text) && text[n] == text[0] {
		n++
	}
	return n
}

// shutBy tells whether a line closes the fence.
func (h fenceHead) shutBy(line string) bool {
	line, ok := unquote(line, h.depth)
	if !ok {
		return false
	}
	indented := len(line)
	line = strings.TrimLeft(line, " \t")
	// CommonMark lets a closing fence be indented by three more; what is deeper is code.
	if indented -= len(line); indented > len(h.lead)+3 || line == "" || line[0] != h.run[0] {
		return false
	}
	n := runLen(line)
	return n >= len(h.run) && strings.TrimRight(line[n:], " \t\r") == ""
}

// unquote takes depth quote marks off a line.
func unquote(line string, depth int) (string, bool) {
	for range depth {
		line = strings.TrimLeft(line, " \t")
		if !strings.HasPrefix(line, ">") {
			return line, false
		}
		line = line[1:]
	}
	return line, true
}

// seamAt tells how good it is to end a part at q, inside the fence. White space is code here and
// stays: only the line break at a seam gives way to the one before the closing line.
func (f *fence) seamAt(text string, q int) (seam, bool) {
	if q < f.body || q >= f.tail {
		return seam{}, false
	}
	if n := newlineLen(text[q:]); n > 0 {
		if q+n == f.tail { // nothing but the closing line would be left for the next part
			return seam{end: q, next: q + n, level: poor, fence: f}, true
		}
		return seam{end: q, next: q + n, level: line, fence: f}, true
	}
	if text[q-1] == '\n' { // the line break itself is the seam
		return seam{}, false
	}
	s := seam{end: q, next: q, level: cluster, fence: f, midLine: true}
	switch {
	case f.hazard(text, q):
		s.level = poor
	case text[q-1] == ' ' && text[q] != ' ':
		s.level = space
	}
	return s, true
}

// hazard tells whether a line cut at q could be taken for a closing fence, on either side.
func (f *fence) hazard(text string, q int) bool {
	before := strings.TrimRight(text[max(0, q-4):q], " ")
	behind := strings.TrimLeft(text[q:min(q+4, len(text))], " ")
	return before != "" && before[len(before)-1] == f.mark || behind != "" && behind[0] == f.mark
}

// newlineLen returns the length of the line break that text starts with, or 0.
func newlineLen(text string) int {
	switch {
	case strings.HasPrefix(text, "\n"):
		return 1
	case strings.HasPrefix(text, "\r\n"):
		return 2
	}
	return 0
}
