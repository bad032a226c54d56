package blocks

import (
	"fmt"
	"strings"

	"nanobot/terminal"
)

// maxShown is how many results the board shows, the newest ones, and shownLength how many
// characters of each.
const maxShown, shownLength = 12, 160

// board shows what the session is at: the round, and the results of its commands.
type board struct {
	emit  func(terminal.Frame) error
	lines []string // of results, led by a heading for each round
}

// beginRound shows that a response is awaited.
func (b *board) beginRound(sequence int, fromPerson bool) error {
	b.lines = append(b.lines, fmt.Sprintf("Round %d", sequence))
	if fromPerson {
		return b.show("waiting for you to send the model's answer")
	}
	return b.show("waiting for the model's answer")
}

// showAsking shows that the person is asked.
func (b *board) showAsking() error { return b.show("waiting for your answer") }

// showRunning shows a command that runs.
func (b *board) showRunning(c Command) error {
	return b.show(visibleLine(c.Text))
}

// addResult shows the result of a command.
func (b *board) addResult(r Result) error {
	mark := "✅ "
	if !r.Success {
		mark = "❌ "
	}
	if r.Type == Message || r.Type == Done { // the message itself is in the chat, or will be
		return nil
	}
	b.lines = append(b.lines, mark+visibleLine(r.Summary))
	return b.show("")
}

// visibleLine shows the beginning of a text as one line in which nothing is hidden.
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
