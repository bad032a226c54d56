package jobs

import (
	"unicode/utf8"

	"nanobot/terminal/process"
)

// maxPartialRune is the largest number of bytes of an incomplete UTF-8 sequence.
const maxPartialRune = utf8.UTFMax - 1

// tail keeps the end of a text. It stores bytes and decodes them on demand, because decoding all
// output would be too slow. Each byte becomes at least one byte of text, so the last limit bytes of
// text come from the last limit bytes of output. The buffer also has room for the beginning of the
// first character, and for an incomplete one at the end.
type tail struct {
	limit int
	bytes *process.Bounded
	ended bool // no more will come
}

func newTail(keep int) *tail {
	return &tail{limit: keep, bytes: process.NewBounded(0, maxPartialRune+keep+maxPartialRune)}
}

func (t *tail) write(p []byte) { _, _ = t.bytes.Write(p) }

// tailSnapshot is a copy of a tail.
type tailSnapshot struct {
	bytes          []byte
	limit          int
	dropped, ended bool
}

func (t *tail) snapshot() tailSnapshot {
	return tailSnapshot{bytes: t.bytes.Tail(), limit: t.limit, dropped: t.bytes.Omitted() > 0, ended: t.ended}
}

// string returns the longest end of the text that fits and begins with a whole character, and
// whether something is missing. Invalid bytes become U+FFFD.
func (k tailSnapshot) string() (text string, truncated bool) {
	b := k.bytes
	if k.dropped {
		// The first bytes may belong to a character whose beginning was dropped. They would not be
		// returned anyway, and without them utf8.Valid accepts a valid text.
		for i := 0; i < maxPartialRune && !utf8.RuneStart(b[0]); i++ {
			b = b[1:]
		}
	}
	if !k.ended {
		b = process.TrimPartialRune(b)
	}
	if !utf8.Valid(b) {
		b = replaceInvalid(b)
	}
	if over := len(b) - k.limit; over > 0 {
		for b = b[over:]; len(b) > 0 && !utf8.RuneStart(b[0]); {
			b = b[1:]
		}
		return string(b), true
	}
	return string(b), k.dropped
}

func replaceInvalid(b []byte) []byte {
	text := make([]byte, 0, len(b)+len(b)/8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		text, b = utf8.AppendRune(text, r), b[n:]
	}
	return text
}
