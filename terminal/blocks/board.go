package blocks

import (
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// maxShown limits the results on the board, newest last, and shownLength the characters of each.
const maxShown, shownLength = 12, 160

// board shows the state of a session: the round and the results of its commands.
type board struct {
	emit  func(terminal.Frame) error
	words words.Words
	lines []string // results, with a heading for each round
	steps int      // commands that were executed
	// details are the lines of the whole turn, each with the end of its command's output.
	details terminal.FoldDetails
}

// beginRound shows that the session waits for a response.
func (b *board) beginRound(sequence int, fromPerson bool) error {
	heading := b.words.Text(words.BlocksRound, sequence)
	b.lines = append(b.lines, heading)
	b.details.Add(heading, 0)
	if fromPerson {
		return b.show(b.words.Text(words.BlocksAwaitsPerson))
	}
	return b.show(b.words.Text(words.BlocksAwaitsModel))
}

// showAsking shows no command while the session waits for the person's answer. The gateway says
// that it waits.
func (b *board) showAsking() error { return b.show("") }

// showRunning shows the command that is running.
func (b *board) showRunning(c Command) error {
	return b.show(visibleLine(c.Text))
}

// addResult shows the result of a command.
func (b *board) addResult(r Result) error {
	mark := "✅ "
	if !r.Success {
		mark = "❌ "
	}
	if r.Type == Message || r.Type == Done { // the message is in the chat itself
		return nil
	}
	line := mark + visibleLine(r.describe(b.words))
	b.lines = append(b.lines, line)
	b.steps++
	b.details.Add(line+outputTail(r.Output), 1)
	return b.show("")
}

// visibleLine returns the beginning of a text as one line, with control characters made visible.
func visibleLine(text string) string {
	return terminal.CodeSpan(terminal.OneLine(terminal.Visible(text), shownLength))
}

func (b *board) show(current string) error {
	if extra := len(b.lines) - maxShown; extra > 0 {
		b.lines = b.lines[extra:]
	}
	lines := b.lines
	if current != "" {
		lines = append(lines[:len(lines):len(lines)], "▶ "+current)
	}
	return b.emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: strings.Join(lines, "\n"), Step: b.steps})
}

// shownTail limits the lines of output below a command in the details, tailBytes the output that is
// searched for them.
const shownTail, tailBytes = 3, 4 << 10

// outputTail returns the last lines of a command's output, each as a line below the command.
func outputTail(output string) string {
	output = output[max(0, len(output)-tailBytes):]
	lines := strings.FieldsFunc(terminal.Clean(output), func(r rune) bool { return r == '\n' })
	var text strings.Builder
	for _, line := range lines[max(0, len(lines)-shownTail):] {
		text.WriteString("\n│ " + visibleLine(line))
	}
	return text.String()
}

// foldBoard sums up the turn on the board, if commands were executed.
func (x *turn) foldBoard() error {
	b := &x.board
	if b.steps == 0 {
		return nil
	}
	created, changed, deleted := x.changes.summary()
	fold := &terminal.Fold{
		Steps: b.steps, Files: len(created) + len(changed) + len(deleted),
		Details: b.details.Text(b.words),
	}
	return b.emit(terminal.Frame{
		Kind: terminal.Progress, Board: true, Text: strings.Join(b.lines, "\n"), Step: b.steps, Fold: fold,
	})
}
