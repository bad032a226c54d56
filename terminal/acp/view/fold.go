package view

import (
	"slices"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// maxDetails limits the details of a folded board, in bytes.
const maxDetails = 16 << 10

// emitEnd emits the summary of the turn and its last messages: the changes, unless they are part of
// the summary, and then the answer. Only the last message notifies, or none if followed is set.
func (v *View) emitEnd(followed bool) {
	changes := v.board.changes.report()
	v.emitFold(changes)
	if changes.isSmall() && v.board.steps > 0 && !v.out.boardHidden() {
		changes = changesReport{}
	}
	files, answer := v.messages.files, v.lastAnswer(followed)
	v.messages.files = pendingFiles{}
	hasAnswer := answer != "" || len(files.paths) > 0
	silent := terminal.Frame{Silent: followed || hasAnswer}
	if changes.text != "" {
		v.emitChanges(changes, silent)
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
func (v *View) lastAnswer(followed bool) string {
	m := &v.messages
	hasText := m.text.hasText
	answer := m.takeText()
	switch {
	case hasText:
		return answer
	case followed:
		return ""
	case m.lastRemark != "":
		return m.lastRemark
	case v.background:
		return ""
	case len(m.files.paths) > 0 || !v.out.messageSent && len(v.board.changes.files) == 0 && v.board.steps == 0:
		return ""
	}
	return v.board.words.Text(words.AgentDone) // it notifies
}

// emitChanges sends the changes as a message, with the complete diff as a file if the message shows
// only a part.
func (v *View) emitChanges(r changesReport, f terminal.Frame) {
	f.Kind, f.Text = terminal.Message, r.text
	if r.file == "" {
		v.out.emit(f)
		return
	}
	var files pendingFiles
	if err := files.write(r.fileName, []byte(r.file)); err != nil {
		v.out.log("warning", "diff not sent as a file: %s", err)
	}
	v.messages.emitFiles(&files, f)
}

// emitFold emits the last board of the turn with its summary, if there were tool calls.
func (v *View) emitFold(changes changesReport) {
	v.due.clear(showBoard)
	if v.board.steps == 0 {
		return
	}
	v.board.updateTails()
	fold := &terminal.Fold{
		Steps: v.board.steps, Files: len(v.board.changes.files), Details: v.board.details(changes),
		Required: !v.out.boardHidden() && v.foldRequired(changes),
	}
	if v.costBefore != nil {
		fold.Cost = v.cost.since(*v.costBefore)
	}
	v.out.emit(terminal.Frame{
		Kind: terminal.Progress, Board: true, Text: strings.Join(v.board.render(), "\n"), Step: v.board.steps, Fold: fold,
	})
}

// foldRequired reports whether the details have content that no message has: remarks, except for
// one that is repeated as the answer, and small changes.
func (v *View) foldRequired(changes changesReport) bool {
	return changes.text != "" && changes.isSmall() || slices.ContainsFunc(v.board.lines, func(l boardLine) bool {
		return l.tool == nil && (v.messages.text.hasText || l.remark != v.messages.lastRemark)
	})
}

// details returns the plan, the changes, a line for each tool call with the end of its output, and
// the remarks. The earliest lines are left out if there are too many. The changes come first, since
// a network with less room cuts the end, and small ones are shown nowhere else.
func (b *board) details(changes changesReport) string {
	changed := b.changes.summary()
	if changes.text != "" && changes.isSmall() {
		changed = changes.text
	}
	plan := strings.Join(b.planLines(), "\n")
	room := maxDetails - len(plan) - len(changed) - 100 // the count and the lines between
	var lines []string
	shownTools := 0
	for i := len(b.lines) - 1; i >= 0; i-- {
		text := b.lines[i].details()
		if room -= len(text) + 1; room < 0 {
			break
		}
		if b.lines[i].tool != nil {
			shownTools++
		}
		lines = append(lines, text)
	}
	if hidden := b.steps - shownTools; hidden > 0 {
		lines = append(lines, terminal.EarlierSteps(b.words, hidden))
	}
	slices.Reverse(lines)
	parts := []string{plan, changed, strings.Join(lines, "\n")}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "\n\n")
}

// details returns a line of the board with everything that is known: a remark is not shortened.
func (l boardLine) details() string {
	if l.tool == nil {
		text := "💬 " + l.remark
		if strings.Contains(l.remark, "\n") {
			text += "\n" // a list in the remark must not go on with the next line
		}
		return text
	}
	return strings.Join(append([]string{l.tool.line()}, l.tool.tailLines()...), "\n")
}
