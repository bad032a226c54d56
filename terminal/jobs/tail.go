package jobs

import (
	"unicode/utf8"

	"nanobot/terminal/process"
)

// part is how many bytes of a character there can be that are not all of it.
const part = utf8.UTFMax - 1

// tail keeps the end of a text that comes in pieces. It keeps bytes as they come, because looking
// at each would cost more than all else, and makes characters of them when it is asked. A byte
// becomes one byte of text or more, so the last keep bytes of text come from the last keep bytes
// written; before them are those that tell whether a character begins there, and behind them may be
// one that is not complete.
type tail struct {
	keep  int
	bytes *process.Bounded
	ended bool // no more will come
}

func newTail(keep int) *tail { return &tail{keep: keep, bytes: process.NewBounded(0, part+keep+part)} }

func (t *tail) write(p []byte) { _, _ = t.bytes.Write(p) }

// kept is a copy of what a tail has.
type kept struct {
	bytes          []byte
	keep           int
	dropped, ended bool
}

func (t *tail) copy() kept {
	return kept{bytes: t.bytes.Tail(), keep: t.keep, dropped: t.bytes.Omitted() > 0, ended: t.ended}
}

// string returns the longest end of the text that fits and begins with a whole character, and
// whether it is not all. A byte that is in no character becomes U+FFFD.
func (k kept) string() (text string, truncated bool) {
	b := k.bytes
	if k.dropped {
		// The first bytes may belong to a character that began before them. They would not be
		// returned anyway, but without them a valid text is seen to be valid.
		for i := 0; i < part && !utf8.RuneStart(b[0]); i++ {
			b = b[1:]
		}
	}
	if !k.ended {
		b = b[:len(b)-incomplete(b)]
	}
	if !utf8.Valid(b) {
		b = replaceInvalid(b)
	}
	if over := len(b) - k.keep; over > 0 {
		for b = b[over:]; len(b) > 0 && !utf8.RuneStart(b[0]); {
			b = b[1:]
		}
		return string(b), true
	}
	return string(b), k.dropped
}

// incomplete returns how many bytes at the end may become a character with what is yet to come.
func incomplete(b []byte) int {
	for n := 1; n <= min(part, len(b)); n++ {
		if end := b[len(b)-n:]; utf8.RuneStart(end[0]) {
			if utf8.FullRune(end) {
				return 0
			}
			return n
		}
	}
	return 0
}

func replaceInvalid(b []byte) []byte {
	text := make([]byte, 0, len(b)+len(b)/8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		text, b = utf8.AppendRune(text, r), b[n:]
	}
	return text
}
