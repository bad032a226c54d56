package channels

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// clusterEnd returns where the grapheme cluster that starts at p ends.
func clusterEnd(text string, p int) int {
	if p+1 >= len(text) {
		return len(text)
	}
	a, b := text[p], text[p+1]
	// Unicode breaks between any two ASCII characters but CR LF (UAX #29), so most text needs no
	// tables.
	if a < utf8.RuneSelf && b < utf8.RuneSelf && (a != '\r' || b != '\n') {
		return p + 1
	}
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(text[p:], -1)
	return p + len(cluster)
}

// runeEnd returns where the rune that starts at p ends. A byte that is no UTF-8 stands for itself.
func runeEnd(text string, p int) int {
	_, n := utf8.DecodeRuneInString(text[p:])
	return p + n
}

// wordEnd returns the last place up to limit that lies inside the ASCII word at p, or p. Its
// characters are clusters of their own, but for the last, which a combining mark may follow. The
// marks that make fences are not taken for words.
func wordEnd(text string, p, limit int) int {
	q := p
	for q+1 < len(text) && q < limit && isWordByte(text[q]) && isWordByte(text[q+1]) {
		q++
	}
	return q
}

func isWordByte(c byte) bool { return ' ' < c && c < 0x7f && c != '`' && c != '~' }

// spaceEnd returns where the white space that starts at p ends, at limit at the latest. A space
// that carries a combining mark is no white space.
func spaceEnd(text string, p, limit int) int {
	for p < limit {
		if text[p] > ' ' && text[p] < utf8.RuneSelf {
			return p
		}
		r, n := utf8.DecodeRuneInString(text[p:])
		if !breakable(r) {
			return p
		}
		q := clusterEnd(text, p)
		if q > limit || q != p+n && text[p:q] != "\r\n" {
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
	text = text[max(0, len(text)-16):]
	text = strings.TrimRight(text, `)]"'*_”’»`)
	r, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(".!?…。！？", r)
}
