package view

import (
	"bytes"
	"strings"
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

// messages are what the agent writes, and the files that it sends.
type messages struct {
	*output
	due        *agenda
	text       segment
	lastRemark string // the agent's last text, if it is a remark
	files      pendingFiles
}

// flush sends the text and the files so far, before content of another kind.
func (m *messages) flush() {
	m.sendText()
	m.sendFiles()
}

// addText adds text to the message that the agent is writing. A text that may become a remark is
// shown on the board, a longer one is streamed.
func (m *messages) addText(text, id string) {
	for _, full := range m.text.add(text, id) {
		m.emitText(full)
		m.text.isMessage = true
		m.due.partial.Cancel()
	}
	m.text.isMessage = m.text.isMessage || !isRemark(m.text.buf)
	switch {
	case !m.text.hasText:
	case m.text.isMessage:
		m.due.partial.Schedule(partialInterval)
		fallthrough // the board no longer shows the text
	default:
		m.due.board.Schedule(boardInterval)
	}
}

// sendText sends the message that the agent is writing. More of the turn follows.
func (m *messages) sendText() {
	if m.text.hasText {
		m.emitText(m.takeText())
		m.lastRemark = ""
	}
	m.takeText()
}

// takeText returns the message that the agent is writing, and begins another one.
func (m *messages) takeText() string {
	text := terminal.TrimText(string(m.text.buf))
	m.due.partial.Cancel()
	m.text = segment{buf: m.text.buf[:0]}
	return text
}

func (m *messages) showPartial() {
	if text := terminal.TrimText(string(m.text.buf)); text != "" {
		m.emit(terminal.Frame{Kind: terminal.Partial, Text: text})
	}
}
