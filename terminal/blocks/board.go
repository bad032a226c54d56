package blocks

import (
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/steps"
)

// shownLength limits the characters of a command or a result in a line.
const shownLength = 160

// board shows the state of a session: the rounds and the results of their commands.
type board struct {
	steps.Board
	running *steps.Step // nil: no command is running
}

// stepKinds are the kinds of commands that a session executes.
var stepKinds = map[CommandType]steps.Kind{
	CreateFile: steps.Edit, EditFile: steps.Edit, DeleteFile: steps.Delete, ReadFile: steps.Read, RunCommand: steps.Run,
}

// beginRound shows that the session waits for a response.
func (b *board) beginRound(sequence int, fromPerson bool) error {
	b.AddHeading(b.Words.Text(words.BlocksRound, sequence))
	awaited := words.BlocksAwaitsModel
	if fromPerson {
		awaited = words.BlocksAwaitsPerson
	}
	return b.Show("▶ " + b.Words.Text(awaited))
}

// showRunning shows the command that is running.
func (b *board) showRunning(c Command) error {
	b.running = &steps.Step{Kind: stepKinds[c.Type], Title: visibleLine(c.Text), State: steps.Running}
	b.Add(b.running)
	return b.Show()
}

// addResult shows the result of a command.
func (b *board) addResult(r Result) error {
	if r.Type == Message || r.Type == Done { // the message is in the chat itself
		return nil
	}
	step := b.running
	if step == nil {
		step = &steps.Step{}
		b.Add(step)
	}
	b.running = nil
	*step = steps.Step{
		Kind: stepKinds[r.Type], Title: visibleLine(r.describe(b.Words)), State: r.state(),
		Output: steps.LastLines(r.Output),
	}
	return b.Show()
}

// visibleLine returns the beginning of a text as one line, with control characters made visible.
func visibleLine(text string) string {
	return terminal.CodeSpan(terminal.OneLine(terminal.Visible(text), shownLength))
}

// foldBoard sums up the turn on the board, if commands were executed or the summary is required.
func (x *turn) foldBoard(sum terminal.Fold) error {
	created, changed, deleted := x.changes.summary()
	sum.Files = len(created) + len(changed) + len(deleted)
	return x.board.Fold(sum)
}
