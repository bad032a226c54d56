package jobs

import (
	"unicode/utf8"

	"nanobot/terminal/process"
)

// maxPartialRune is the largest number of bytes of an incomplete UTF-8 sequence.
const maxPartialRune = utf8.UTFMax - 1

// newTail returns a buffer for the end of a text of keep bytes. It stores bytes and decodeTail
// decodes them on demand, because decoding all output would be too slow. Each byte becomes at least
// one byte of text, so the last keep bytes of text come from the last keep bytes of output. The
// buffer also has room for the beginning of the first character, and for an incomplete one at the
// end.
func newTail(keep int) *process.Bounded {
	return process.NewBounded(0, maxPartialRune+keep+maxPartialRune)
}

// decodeTail returns the longest end of a text that fits and begins with a whole character, and
// whether something is missing. b is what newTail's buffer has kept, dropped says that it is not
// all, and ended that no more will come. Invalid bytes become U+FFFD.
func decodeTail(b []byte, keep int, dropped, ended bool) (text string, truncated bool) {
	if dropped {
		// The first bytes may belong to a character whose beginning was dropped. They would not be
		// returned anyway, and without them utf8.Valid accepts a valid text.
		for i := 0; i < maxPartialRune && !utf8.RuneStart(b[0]); i++ {
			b = b[1:]
		}
	}
	if !ended {
		b = process.TrimPartialRune(b)
	}
	if !utf8.Valid(b) {
		b = []byte(string([]rune(string(b))))
	}
	if over := len(b) - keep; over > 0 {
		for b = b[over:]; len(b) > 0 && !utf8.RuneStart(b[0]); {
			b = b[1:]
		}
		return string(b), true
	}
	return string(b), dropped
}
