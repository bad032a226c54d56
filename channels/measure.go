package channels

import "unicode/utf8"

// Measure counts the length of a text as a network does. It must be additive: two parts of a text,
// cut between runes, are together as long as the whole. No text is longer than its bytes.
type Measure func(text string) int

// UTF16 counts UTF-16 code units, as Telegram does for texts (4096) and captions (1024).
func UTF16(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// Runes counts code points, as Discord does for message content (2000).
func Runes(text string) int { return utf8.RuneCountInString(text) }
