package view

import (
	"nanobot/terminal"
)

// emitEnd emits the summary of the turn and its last messages: the changes, unless they are part of
// the summary, and then the answer. Only the last message notifies, or none if followed is set.
func (v *View) emitEnd(followed bool) {
	changes := v.board.changes.report()
	v.emitFold(changes)
	if changes.isSmall() && v.board.Count() > 0 && !v.out.boardHidden() {
		changes = changesReport{}
	}
	files, answer := v.messages.files, v.messages.lastAnswer(followed)
	v.messages.files = pendingFiles{}
	hasAnswer := answer != "" || len(files.paths) > 0
	silent := terminal.Frame{Silent: followed || hasAnswer}
	if changes.text != "" {
		v.messages.emitChanges(changes, silent)
	}
	if !hasAnswer {
		return
	}
	last := v.out.answerFrame(answer)
	last.Silent = followed
	if len(files.paths) > 0 {
		v.messages.emitFiles(&files, last)
		return
	}
	v.out.emit(last)
}

// lastAnswer returns the text of the turn's last message: what the agent has written since the last
// tool call or, if it is the last message of the turn, its last remark.
func (m *messages) lastAnswer(followed bool) string {
	hasText := m.text.hasText
	answer := m.takeText()
	switch {
	case hasText:
		return answer
	case followed:
		return ""
	}
	return m.lastRemark
}

// emitChanges sends the changes as a message, with the complete diff as a file if the message shows
// only a part.
func (m *messages) emitChanges(r changesReport, f terminal.Frame) {
	f.Kind, f.Text = terminal.Message, r.text
	if r.file == "" {
		m.emit(f)
		return
	}
	var files pendingFiles
	if err := files.write(r.fileName, []byte(r.file)); err != nil {
		m.log("warning", "diff not sent as a file: %s", err)
	}
	m.emitFiles(&files, f)
}

// emitFold emits the last board of the turn with its summary, if there were tool calls.
func (v *View) emitFold(changes changesReport) {
	v.due.board.Cancel()
	v.board.refresh()
	sum := terminal.Fold{
		Files: len(v.board.changes.files), Required: !v.out.boardHidden() && v.foldRequired(changes),
	}
	if changes.isSmall() {
		sum.Details = changes.text
	}
	if v.costBefore != nil {
		sum.Cost = v.cost.since(*v.costBefore)
	}
	_ = v.board.Fold(sum) // Close returns the error
}

// foldRequired reports whether the details have content that no message has: remarks, except for
// one that is repeated as the answer, and small changes.
func (v *View) foldRequired(changes changesReport) bool {
	repeated := v.messages.lastRemark
	if v.messages.text.hasText {
		repeated = ""
	}
	return changes.text != "" && changes.isSmall() || v.board.HasRemark(repeated)
}
