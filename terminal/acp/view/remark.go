package view

import (
	"bytes"
	"unicode/utf8"
)

// maxRemark is the length in characters up to which a text before a tool call is a remark.
const maxRemark = 400

// isRemark reports whether a text is a remark if a tool call follows it. People want to read longer
// texts, code blocks and tables whole, so they are messages.
func isRemark(text []byte) bool {
	if len(text) > maxRemark*utf8.UTFMax || utf8.RuneCount(text) > maxRemark {
		return false
	}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if bytes.HasPrefix(line, []byte("```")) || bytes.HasPrefix(line, []byte("~~~")) || isTableRule(line) {
			return false
		}
	}
	return true
}

// isTableRule reports whether a line separates the head of a Markdown table from its rows.
func isTableRule(line []byte) bool {
	return bytes.Contains(line, []byte("|")) && bytes.Contains(line, []byte("--")) && len(bytes.Trim(line, "|-: \t")) == 0
}

// settleText ends the text that the agent is writing before a tool call. A remark becomes a line of
// the board if there is one, a longer text or one with files a message.
func (v *View) settleText() {
	m := &v.messages
	if !m.text.hasText || m.text.isMessage || m.boardHidden() || len(m.linkedFiles(string(m.text.buf))) > 0 {
		m.sendText()
		return
	}
	m.lastRemark = m.takeText()
	v.board.forget(v.board.AddRemark(m.lastRemark))
}
