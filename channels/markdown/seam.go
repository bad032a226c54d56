package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// level is the quality of a seam.
type level int

// The levels, from the worst to the best.
const (
	cluster   level = iota // between two characters
	inside                 // between two words of a link or of inline code
	space                  // between two words
	sentence               // between two sentences
	line                   // between two lines
	block                  // before a list item, or at the edge of a quote or block of code
	paragraph              // at an empty line
	levels
)

// seam is a position where one part may end and the next begin. Only white space lies between them.
type seam struct {
	start, end int // of the part
	next       int
	used       int // cost of the part
	level      level
}

// seamAt returns the seam at q, after a visible character.
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
		m.next, m.level = q+first+1, line // empty lines and indentation in code are kept
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

// lineLevel returns the level of the seam between the line that ends at q and the line that starts
// at next.
func (s *splitter) lineLevel(q, next int) level {
	_, quoted := s.quotes.around(q)
	switch {
	case quoted, s.heads[q]: // a heading stays with the text below it
		return line
	case strings.Count(s.text[q:next], "\n") > 1:
		return paragraph
	case s.starts[next]:
		return block
	}
	return line
}

// wordFits reports whether the word, link or inline code that starts at p fits into a part.
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

// clusterEnd returns the end of the grapheme cluster that starts at p.
func (s *splitter) clusterEnd(p int) int {
	if p+1 >= len(s.text) {
		return len(s.text)
	}
	a, b := s.text[p], s.text[p+1]
	// Unicode allows a break between any two ASCII characters except CR LF (UAX #29), so most text
	// needs no tables.
	if a < utf8.RuneSelf && b < utf8.RuneSelf && (a != '\r' || b != '\n') {
		return p + 1
	}
	// A character costs at least a quarter of its bytes, so a cluster that reaches the end of near
	// is too long anyway.
	near := s.text[p:min(len(s.text), p+4*s.limit+2*utf8.UTFMax)]
	found, _, _, _ := uniseg.FirstGraphemeClusterInString(near, -1)
	return p + len(found)
}

// spaceEnd returns the end of the white space that starts at p. A space with a combining mark is
// not white space.
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

// breakable reports whether a line may break at a white space, which excludes the three no-break
// spaces.
func breakable(r rune) bool {
	return unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f' && r != '\u2007'
}

// endsSentence reports whether a text ends with the punctuation of a sentence.
func endsSentence(text string) bool {
	text = strings.TrimRight(text[max(0, len(text)-16):], `)]"'”’»`)
	r, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(".!?…。！？", r)
}

// wordLevel returns the level of a seam after a text without white space after it. Chinese and
// Japanese have no spaces, and are best split after punctuation.
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
