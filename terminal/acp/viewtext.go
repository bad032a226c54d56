package acp

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"nanobot/terminal"
)

// maxSegment limits one message of an answer.
const maxSegment = 256 << 10

// segment is the message that the agent is writing.
type segment struct {
	buf     []byte
	id      string // the agent's message ID, if it has one
	hasText bool   // there is more than white space
	// isMessage means that the text cannot be a remark: it is too long, or it was sent in part.
	isMessage bool
}

// isNewMessage reports whether text with this message ID starts another message.
func (s *segment) isNewMessage(id string) bool { return id != "" && s.id != "" && id != s.id }

// add appends text and returns the messages that are full.
func (s *segment) add(text, id string) (full []string) {
	if id != "" {
		s.id = id
	}
	s.hasText = s.hasText || strings.TrimSpace(text) != ""
	s.buf = append(s.buf, text...)
	rest := s.buf
	for len(rest) > maxSegment {
		n := cutPosition(rest)
		full = append(full, string(rest[:n]))
		rest = rest[n:]
	}
	if full != nil {
		s.buf = append(s.buf[:0], rest...)
		s.hasText = len(bytes.TrimSpace(s.buf)) > 0
	}
	return full
}

// cutPosition returns where to cut a long text: after a line, else after a word, and never within a
// character.
func cutPosition(b []byte) int {
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

// addText adds text to the message that the agent is writing. A text that may become a remark is
// shown on the board, a longer one is streamed.
func (v *view) addText(text, id string) {
	for _, full := range v.text.add(text, id) {
		v.emitText(full)
		v.text.isMessage = true
		v.partialAt = time.Time{}
	}
	v.text.isMessage = v.text.isMessage || !isRemark(v.text.buf)
	switch {
	case !v.text.hasText:
	case v.text.isMessage:
		v.schedule(&v.partialAt, partialInterval)
		fallthrough // the board no longer shows the text
	default:
		v.schedule(&v.boardAt, boardInterval)
	}
}

// addNotice puts a text of the gateway before the agent's next text, which is then a message.
func (v *view) addNotice(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text.isMessage = true
	v.addText(text+"\n\n", "")
}

// sendText sends the message that the agent is writing. More of the turn follows.
func (v *view) sendText() {
	if v.text.hasText {
		v.emitText(v.takeText())
		v.lastRemark = ""
	}
	v.takeText()
}

// takeText returns the message that the agent is writing, and begins another one.
func (v *view) takeText() string {
	text := trimBlank(string(v.text.buf))
	v.partialAt, v.text = time.Time{}, segment{buf: v.text.buf[:0]}
	return text
}

// emitText sends a message, with the files that it links to, which notifies nobody, because more of
// the turn follows.
func (v *view) emitText(text string) {
	if text = trimBlank(text); text != "" {
		f := v.answerFrame(text)
		f.Silent = true
		v.emit(f)
	}
}

func (v *view) showPartial() {
	v.partialAt = time.Time{}
	if text := trimBlank(string(v.text.buf)); text != "" {
		v.emit(terminal.Frame{Kind: terminal.Partial, Text: text})
	}
}

// trimBlank removes leading blank lines and trailing white space, and keeps indentation.
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
