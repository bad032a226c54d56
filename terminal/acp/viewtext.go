package acp

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"nanobot/terminal"
)

// maxSegment is how long one message of an answer may get.
const maxSegment = 256 << 10

// segment is the message that the agent is writing.
type segment struct {
	buf []byte
	id  string // the agent's name for the message, if it has one
	ink bool   // there is more than white space in it
}

// another reports whether text of a message called id belongs to another one than this.
func (s *segment) another(id string) bool { return id != "" && s.id != "" && id != s.id }

// add appends text and returns the messages that have become full.
func (s *segment) add(text, id string) (full []string) {
	if id != "" {
		s.id = id
	}
	s.ink = s.ink || strings.TrimSpace(text) != ""
	s.buf = append(s.buf, text...)
	rest := s.buf
	for len(rest) > maxSegment {
		n := cutAt(rest)
		full = append(full, string(rest[:n]))
		rest = rest[n:]
	}
	if full != nil {
		s.buf = append(s.buf[:0], rest...)
		s.ink = len(bytes.TrimSpace(s.buf)) > 0
	}
	return full
}

// cutAt returns where to cut a text that is too long: behind a line, else behind a word, or at
// least not within a character.
func cutAt(b []byte) int {
	for _, end := range []byte("\n ") {
		if i := bytes.LastIndexByte(b[maxSegment/2:maxSegment], end); i >= 0 {
			return maxSegment/2 + i + 1
		}
	}
	n := maxSegment
	for n > maxSegment-utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// sendText ends the message that the agent is writing.
func (v *view) sendText() {
	v.partialAt = time.Time{}
	if v.text.ink {
		v.emitText(string(v.text.buf))
	}
	v.text = segment{buf: v.text.buf[:0]}
}

func (v *view) emitText(text string) {
	if text = trimBlank(text); text != "" {
		v.emit(terminal.Frame{Kind: terminal.Message, Text: text})
	}
}

func (v *view) showPartial() {
	v.partialAt = time.Time{}
	if text := trimBlank(string(v.text.buf)); text != "" {
		v.emit(terminal.Frame{Kind: terminal.Partial, Text: text})
	}
}

// trimBlank drops blank lines at the beginning and white space at the end, and keeps indentation.
func trimBlank(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	for {
		line, rest, found := strings.Cut(s, "\n")
		if !found || strings.TrimSpace(line) != "" {
			return s
		}
		s = rest
	}
}
