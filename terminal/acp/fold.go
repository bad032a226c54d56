package acp

import (
	"slices"
	"strings"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// maxDetails limits the details of a folded board, in bytes.
const maxDetails = 16 << 10

// emitEnd emits the summary of the turn and its last messages: the changes, unless they are part of
// the summary, and then the answer. Only the last message notifies, or none if followed is set.
func (v *view) emitEnd(followed bool) {
	changes := v.changes.report()
	v.emitFold(changes)
	if changes.isSmall() && v.board.steps > 0 && !v.boardHidden() {
		changes = changesReport{}
	}
	files, answer := v.files, v.lastAnswer(followed)
	v.files = pendingFiles{}
	hasAnswer := answer != "" || len(files.paths) > 0
	silent := terminal.Frame{Silent: followed || hasAnswer}
	if changes.text != "" {
		v.emitChanges(changes, silent)
	}
	if !hasAnswer {
		return
	}
	last := v.answerFrame(answer)
	last.Silent = followed
	if len(files.paths) > 0 {
		v.emitFiles(&files, last)
		return
	}
	v.emit(last)
}

// lastAnswer returns the text of the turn's last message: what the agent has written since the last
// tool call or, if it is the last message of the turn, its last remark.
func (v *view) lastAnswer(followed bool) string {
	hasText := v.text.hasText
	answer := v.takeText()
	switch {
	case hasText:
		return answer
	case followed:
		return ""
	case v.lastRemark != "":
		return v.lastRemark
	case v.background:
		return ""
	case len(v.files.paths) > 0 || !v.messageSent && len(v.changes.files) == 0 && v.board.steps == 0:
		return ""
	}
	return v.turn.Words.Text(words.AgentDone) // it notifies
}

// emitChanges sends the changes as a message, with the complete diff as a file if the message shows
// only a part.
func (v *view) emitChanges(r changesReport, f terminal.Frame) {
	f.Kind, f.Text = terminal.Message, r.text
	if r.file == "" {
		v.emit(f)
		return
	}
	var files pendingFiles
	if err := files.write(r.fileName, []byte(r.file)); err != nil {
		v.log("warning", "diff not sent as a file: %s", err)
	}
	v.emitFiles(&files, f)
}

// emitFold emits the last board of the turn with its summary, if there were tool calls.
func (v *view) emitFold(changes changesReport) {
	v.boardAt = time.Time{}
	if v.board.steps == 0 {
		return
	}
	v.updateTails()
	fold := &terminal.Fold{
		Steps: v.board.steps, Files: len(v.changes.files), Details: v.details(changes), Required: !v.boardHidden() && v.foldRequired(changes),
	}
	if v.costBefore != nil {
		fold.Cost = v.cost.since(*v.costBefore)
	}
	v.emit(terminal.Frame{
		Kind: terminal.Progress, Board: true, Text: strings.Join(v.renderBoard(), "\n"), Step: v.board.steps, Fold: fold,
	})
}

// foldRequired reports whether the details have content that no message has: remarks, except for
// one that is repeated as the answer, and small changes.
func (v *view) foldRequired(changes changesReport) bool {
	return changes.text != "" && changes.isSmall() || slices.ContainsFunc(v.board.lines, func(l boardLine) bool {
		return l.tool == nil && (v.text.hasText || l.remark != v.lastRemark)
	})
}

// details returns the plan, the changes, a line for each tool call with the end of its output, and
// the remarks. The earliest lines are left out if there are too many. The changes come first, since
// a network with less room cuts the end, and small ones are shown nowhere else.
func (v *view) details(changes changesReport) string {
	changed := v.changes.summary()
	if changes.text != "" && changes.isSmall() {
		changed = changes.text
	}
	plan := strings.Join(v.board.planLines(), "\n")
	room := maxDetails - len(plan) - len(changed) - 100 // the count and the lines between
	var lines []string
	shownTools := 0
	for i := len(v.board.lines) - 1; i >= 0; i-- {
		text := v.board.lines[i].details()
		if room -= len(text) + 1; room < 0 {
			break
		}
		if v.board.lines[i].tool != nil {
			shownTools++
		}
		lines = append(lines, text)
	}
	if hidden := v.board.steps - shownTools; hidden > 0 {
		lines = append(lines, terminal.EarlierSteps(v.turn.Words, hidden))
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
