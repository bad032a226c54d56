package blocks

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nanobot/internal/linediff"
	"nanobot/terminal"
)

// The answers to a question for approval.
const (
	approveOnce   = "Yes"
	approveNot    = "No"
	approveAlways = "Always in this session"
)

// approveWithin is how long an approval is waited for. Nobody else waits meanwhile.
const approveWithin = time.Hour

// askedLength is how many characters of a command or of a diff a question shows, since a message of
// a chat holds about 4,000, and askedLines how many lines of a diff.
const askedLength, askedLines = 1500, 30

// approved asks the person about a command, the nth of the response, if that needs approval. It
// reports whether the command may be executed; an error says that the turn ends.
func (x *turn) approved(ctx context.Context, c Command, n int, question func() string) (bool, error) {
	if !x.needsApproval(c.Type) {
		return true, nil
	}
	if err := x.board.showAsking(); err != nil {
		return false, err
	}
	if err := x.showLongCommand(c); err != nil {
		return false, err
	}
	resume := x.t.AwaitPerson(ctx)
	a, err := x.t.Ask(ctx, terminal.Question{
		// The turn that is run again after a crash finds the answer that it was given.
		ID:   fmt.Sprintf("blocks-%s-%d-%d", x.s.ID, x.s.Sequence, n),
		Text: question(), Options: []string{approveOnce, approveNot, approveAlways}, Timeout: approveWithin, Approval: true,
	})
	if rerr := resume(ctx); rerr != nil {
		return false, rerr
	}
	answer, by := a.Text, "user "+terminal.OneLine(a.By, 80)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, terminal.ErrNobodyToAsk):
		answer, by = approveNot, "rule (nobody is there to be asked)"
		err = x.tellNobody()
	case err != nil:
		answer, by = approveNot, "no answer in time"
		err = x.say(terminal.Frame{Text: "🔐 There was no answer, so this was refused: " + visibleLine(subject(c))})
	}
	if err != nil {
		return false, err
	}
	if answer == approveAlways {
		x.s.Approved = append(x.s.Approved, c.Type)
	}
	return answer == approveOnce || answer == approveAlways, x.t.Emit(terminal.Frame{
		Kind: terminal.Log, Level: "info", Audit: true, Text: fmt.Sprintf("approval: %s %q: %s by %s", c.Type, terminal.OneLine(terminal.Visible(subject(c)), 500), answer, by),
	})
}

// tellNobody logs once a turn that nobody can be asked: there is nobody in the chat to tell.
func (x *turn) tellNobody() error {
	if x.toldNobody {
		return nil
	}
	x.toldNobody = true
	return x.t.Emit(terminal.Frame{Kind: terminal.Log, Level: "warning", Text: "nobody is here to be asked, so what needs approval is refused; blocks.approve says what that is"})
}

// subject is what a command is about: its file or its shell command.
func subject(c Command) string {
	if c.Type == RunCommand {
		return c.Text
	}
	return c.Path
}

// needsApproval reports whether the person is asked about a type of command.
func (x *turn) needsApproval(t CommandType) bool {
	switch {
	case x.set.Approve == approveNever, slices.Contains(x.s.Approved, t):
		return false
	case t == RunCommand || t == DeleteFile:
		return true
	}
	return x.set.Approve == approveAll
}

// showLongCommand sends a command that does not fit into the question as a document.
func (x *turn) showLongCommand(c Command) error {
	if c.Type != RunCommand || clip(c.Text, askedLength) == strings.TrimRight(terminal.Visible(c.Text), "\n") {
		return nil
	}
	const name = "command.txt"
	if err := writeFile(x.files.outbox, name, []byte(c.Text), false); err != nil {
		return err
	}
	dir := filepath.Join(x.files.path, outboxName)
	return x.say(terminal.Frame{Text: "The next question is about this command, which is too long for a message.", ProtocolDir: dir, Media: []string{filepath.Join(dir, name)}})
}

// runQuestion asks about a shell command.
func runQuestion(command string) string {
	return "🔐 Run this command?\n" + terminal.CodeBlock("sh", clip(command, askedLength))
}

// question asks about a change of a file.
func (p plannedChange) question(c Command) string {
	name := visiblePath(p.file)
	switch {
	case c.Type == DeleteFile && p.link != "":
		return "🔐 Delete " + visiblePath(p.link) + ", which is a link to " + name + "?"
	case c.Type == DeleteFile:
		return "🔐 Delete " + name + "?"
	case c.Type == EditFile:
		return "🔐 Edit " + name + "?\n" + p.shortDiff()
	case p.existed:
		return "🔐 Overwrite " + name + "?\n" + p.shortDiff()
	}
	return "🔐 Create " + name + "?\n" + p.shortDiff()
}

// visiblePath shows a path whole, unless it is longer than any that makes sense.
func visiblePath(path string) string {
	path = strings.ReplaceAll(terminal.Visible(path), "\n", "\u240a")
	if runes := []rune(path); len(runes) > askedLength {
		half := askedLength / 2
		path = string(runes[:half]) + "…" + string(runes[len(runes)-half:])
	}
	return terminal.CodeSpan(path)
}

// shortDiff is the beginning of what would change.
func (p plannedChange) shortDiff() string {
	if p.cut || max(len(p.before), len(p.after)) > maxCompared {
		return fmt.Sprintf("(too large to be compared; it will have %d bytes)", len(p.after))
	}
	diff := terminal.Visible(linediff.Compare(validText(p.before), validText(p.after)).Unified())
	if diff == "" {
		return "(no change)"
	}
	lines := strings.SplitAfter(diff, "\n")
	short := strings.Join(lines[:min(len(lines), askedLines)], "")
	return terminal.CodeBlock("diff", clip(short, askedLength)+more(len(lines)-askedLines-1))
}

// more says how many lines are not shown.
func more(lines int) string {
	switch {
	case lines <= 0:
		return ""
	case lines == 1:
		return "\n(1 more line)"
	}
	return fmt.Sprintf("\n(%d more lines)", lines)
}

// clip cuts a text and says how much is missing, so that nobody takes a part for the whole.
func clip(s string, most int) string {
	s = strings.TrimRight(terminal.Visible(s), "\n")
	short := terminal.Shorten(s, most)
	if short == s {
		return s
	}
	return fmt.Sprintf("%s\n(%d more bytes)", short, len(s)-len(short)+len("…"))
}
