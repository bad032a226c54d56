package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// level says how good a place is to end a part.
type level int

// The levels, from the last resort to the best.
const (
	cluster   level = iota // between two characters
	inside                 // between two words of a link or of code in a line
	space                  // between two words
	sentence               // between two sentences
	line                   // between two lines
	block                  // before a list item, or at the edge of a quote or block of code
	paragraph              // at an empty line
	levels
)

// seam is a place where one part may end and the next begin. What lies between is white space.
type seam struct {
	start, end int // of the part
	next       int
	used       int // what the part measures
	level      level
}

// seamAt tells how good it is to end a part at q, behind a visible character.
func (s *splitter) seamAt(q int) seam {
	w := s.spaceEnd(q)
	if w == len(s.text) {
		return seam{end: q, next: w, level: paragraph}
	}
	if w == q {
		return seam{end: q, next: q, level: wordLevel(s.text[:q])}
	}
	m := seam{end: q, next: w, level: space}
	_, code := s.blocks.around(q)
	_, atom := s.atoms.around(q)
	first := strings.IndexByte(s.text[q:w], '\n')
	switch {
	case first >= 0 && code:
		m.next, m.level = q+first+1, line // what is empty or indented in code stays so
	case first >= 0:
		m.next = q + strings.LastIndexByte(s.text[q:w], '\n') + 1
		m.level = s.lineLevel(q, m.next)
	case atom:
		m.level = inside
	case endsSentence(s.text[:q]) && !code:
		m.level = sentence
	}
	return m
}

// lineLevel rates the seam between the line that ends at q and the one that starts at next.
func (s *splitter) lineLevel(q, next int) level {
	_, quoted := s.quotes.around(q)
	switch {
	case quoted, s.heads[q]: // a heading keeps with what it is about
		return line
	case strings.Count(s.text[q:next], "\n") > 1:
		return paragraph
	case s.starts[next]:
		return block
	}
	return line
}

// wordFits tells whether what starts at p fits a part, up to the next white space or to the end of
// the link or code it is in.
func (s *splitter) wordFits(p int) bool {
	end := p
	if a, ok := s.atoms.around(p + 1); ok {
		end = a.End
	}
	used := 0
	for i, r := range s.text[p:] {
		if p+i >= end && breakable(r) {
			return true
		}
		if used += s.cost.Words(string(r)); used > s.limit {
			return false
		}
	}
	return true
}

// clusterEnd returns where the grapheme cluster that starts at p ends.
func (s *splitter) clusterEnd(p int) int {
	if p+1 >= len(s.text) {
		return len(s.text)
	}
	a, b := s.text[p], s.text[p+1]
	// Unicode breaks between any two ASCII characters but CR LF (UAX #29), so most text needs no
	// tables.
	if a < utf8.RuneSelf && b < utf8.RuneSelf && (a != '\r' || b != '\n') {
		return p + 1
	}
	// No character costs less than a quarter of its bytes, so what reaches the end of this is too
	// long anyway.
	near := s.text[p:min(len(s.text), p+4*s.limit+2*utf8.UTFMax)]
	found, _, _, _ := uniseg.FirstGraphemeClusterInString(near, -1)
	return p + len(found)
}

// spaceEnd returns where the white space that starts at p ends. A space that carries a combining
// mark is no white space.
func (s *splitter) spaceEnd(p int) int {
	for p < len(s.text) {
		if s.text[p] > ' ' && s.text[p] < utf8.RuneSelf {
			return p
		}
		r, n := utf8.DecodeRuneInString(s.text[p:])
		if !breakable(r) {
			return p
		}
		q := s.clusterEnd(p)
		if q != p+n && s.text[p:q] != "\r\n" {
			return p
		}
		p = q
	}
	return p
}

// breakable tells white space that a line may be broken at from the three spaces made to hold words
// together.
func breakable(r rune) bool {
	return unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f' && r != '\u2007'
}

// endsSentence tells whether a text ends with a sentence, as far as punctuation can tell.
func endsSentence(text string) bool {
	text = strings.TrimRight(text[max(0, len(text)-16):], `)]"'”’»`)
	r, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(".!?…。！？", r)
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
