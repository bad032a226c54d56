package channels

import (
	"strings"
	"unicode/utf8"
)

// level says how good a place is to end a part.
type level int

// The levels, from the last resort to the best.
const (
	poor      level = iota // inside a cluster, or where the rest would be read as something else
	cluster                // between two characters
	space                  // between two words
	sentence               // between two sentences
	line                   // between two lines
	block                  // before a heading, list item, table or fence, or behind one of the latter two
	paragraph              // at an empty line
	levels
)

// seam is a place where one part may end and the next begin. What lies between is white space.
type seam struct {
	end, next int
	used      int // what the part measures up to end, with what was put before it
	level     level
	fence     *fence // the fence the seam lies in, or nil
	midLine   bool   // inside a line of the fence
}

// cursor is a place in a layout: the first of each that lies at or behind it.
type cursor struct{ span, fence, table int }

// proseSeam tells how good it is to end a part at q, outside fences.
func (s *splitter) proseSeam(q int, c *cursor) seam {
	w := s.spaceEnd(q, c)
	nl := strings.LastIndexByte(s.text[q:w], '\n')
	switch {
	case w == len(s.text):
		return seam{end: q, next: w, level: paragraph}
	case nl >= 0:
		next := q + nl + 1 // the next line keeps its indentation
		return seam{end: q, next: next, level: s.lineLevel(q, next, c)}
	case s.hazard(q, w):
		return seam{end: q, next: w, level: poor}
	case w > q && endsSentence(s.text[:q]):
		return seam{end: q, next: w, level: sentence}
	case w > q:
		return seam{end: q, next: w, level: space}
	}
	return seam{end: q, next: q, level: wordLevel(s.text[:q])}
}

// lineLevel rates the seam between the line that ends at q and the one that starts at next.
func (s *splitter) lineLevel(q, next int, c *cursor) level {
	before := s.text[s.pos:q]
	if isHeading(before[strings.LastIndexByte(before, '\n')+1:]) {
		return line // a heading keeps with what it is about
	}
	if strings.Count(s.text[q:next], "\n") > 1 {
		return paragraph
	}
	rest := s.text[next:]
	if isHeading(rest) || markerLen(rest[indentLen(rest):]) > 0 {
		return block
	}
	if _, ok := readFenceHead(rest); ok {
		return block
	}
	for i := c.table; i < len(s.tables) && i < c.table+2; i++ {
		if s.tables[i].start == next || s.tables[i].end == q {
			return block
		}
	}
	if c.fence < len(s.fences) && s.fences[c.fence].end == q {
		return block
	}
	return line
}

// hazard tells whether a part that starts at next, in the middle of a line, would start with a
// fence. A run of such marks is not cut either.
func (s *splitter) hazard(q, next int) bool {
	c := s.text[next]
	if c != '`' && c != '~' {
		return false
	}
	return q == next && s.text[q-1] == c || next+2 < len(s.text) && s.text[next+1] == c && s.text[next+2] == c
}

// wordLevel rates the seam behind a text that no white space follows. Chinese and Japanese have
// none, and are best cut behind their punctuation.
func wordLevel(text string) level {
	if text[len(text)-1] < utf8.RuneSelf {
		return cluster
	}
	switch r, _ := utf8.DecodeLastRuneInString(text); r {
	case '。', '！', '？':
		return sentence
	case '，', '、', '；', '：':
		return space
	}
	return cluster
}
