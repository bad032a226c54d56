package blocks

import (
	"fmt"
	"strings"

	"nanobot/terminal"
)

// maxShown limits the results on the board, newest last, and shownLength the characters of each.
const maxShown, shownLength = 12, 160

// board shows the state of a session: the round and the results of its commands.
type board struct {
	emit  func(terminal.Frame) error
	lines []string // results, with a heading for each round
}

// beginRound shows that the session waits for a response.
func (b *board) beginRound(sequence int, fromPerson bool) error {
	b.lines = append(b.lines, fmt.Sprintf("Round %d", sequence))
	if fromPerson {
		return b.show("waiting for you to send the model's answer")
	}
	return b.show("waiting for the model's answer")
}

// showAsking shows that the session waits for the person's answer.
func (b *board) showAsking() error { return b.show("waiting for your answer") }

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
	b.lines = append(b.lines, mark+visibleLine(r.Summary))
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
	return b.emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: strings.Join(lines, "\n")})
}
