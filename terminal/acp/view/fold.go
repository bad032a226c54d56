package view

import (
	"nanobot/terminal"
	"nanobot/terminal/steps"
)

// emitEnd emits the summary of the turn and its answer. A diff that is not part of the summary, or
// has no board to be shown on, is a document of the answer or, without one, of the message of the
// gateway that follows. Only the last message notifies.
func (v *View) emitEnd(followed bool, next *terminal.FinalResponse) {
	r := v.board.changes.report()
	changes, folded := steps.FoldDiff(r.text, r.diff)
	folded = folded && v.board.Count() > 0 && !v.out.boardHidden() && v.out.turn.HasBoard()
	v.emitFold(changes, folded && r.diff != "")
	m := &v.messages
	if r.diff != "" && !folded {
		if err := m.files.write(r.fileName, []byte(r.diff)); err != nil {
			m.log("warning", "diff not sent as a file: %s", err)
		}
	}
	last := v.out.answerFrame(m.lastAnswer(followed))
	last.Silent = followed
	switch hasFiles := len(m.files.paths) > 0; {
	case hasFiles && last.Text == "" && followed && next != nil:
		next.AttachFiles(m.files.temp, m.files.paths)
		m.files = pendingFiles{}
	case hasFiles:
		m.emitFiles(&m.files, last)
	case last.Text != "":
		v.out.emit(last)
	}
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

// emitFold emits the last board of the turn with its summary, if there were tool calls. hasDiff
// says that only the summary has the diff.
func (v *View) emitFold(changes string, hasDiff bool) {
	v.due.board.Cancel()
	if v.board.Count() == 0 {
		return
	}
	v.board.refresh()
	sum := terminal.Fold{
		Files: len(v.board.changes.files), Changes: changes, Required: !v.out.boardHidden() && (hasDiff || v.hasOwnRemark()),
	}
	if v.costBefore != nil {
		sum.Cost = v.cost.since(*v.costBefore)
	}
	_ = v.board.Fold(sum) // Close returns the error
}

// hasOwnRemark reports whether the details have a remark that no message has: the last one may be
// repeated as the answer.
func (v *View) hasOwnRemark() bool {
	repeated := v.messages.lastRemark
	if v.messages.text.hasText {
		repeated = ""
	}
	return v.board.HasRemark(repeated)
}
