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

// The options of a question for approval.
const (
	approveOnce   = "Yes"
	approveNot    = "No"
	approveAlways = "Always in this session"
)

// approvalTimeout limits the wait for an approval. Other chats do not wait meanwhile.
const approvalTimeout = time.Hour

// maxQuestionLength limits the characters of a command or a diff in a question, since a chat
// message has room for about 4,000. maxQuestionLines limits the lines of a diff.
const maxQuestionLength, maxQuestionLines = 1500, 30

// askApproval asks the person about a command, the nth of the response, if its type needs approval.
// It reports whether the command may be executed; an error ends the turn.
func (x *turn) askApproval(ctx context.Context, c Command, n int, question func() string) (bool, error) {
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
		// Deterministic, so that a turn that is repeated after a crash finds the stored answer.
		ID:   fmt.Sprintf("blocks-%s-%d-%d", x.s.ID, x.s.Sequence, n),
		Text: question(), Options: []string{approveOnce, approveNot, approveAlways}, Timeout: approvalTimeout, Approval: true,
	})
	if rerr := resume(ctx); rerr != nil {
		return false, rerr
	}
	answer, by := a.Text, "user "+terminal.OneLine(a.By, 80)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, terminal.ErrNobodyToAsk):
		answer, by = approveNot, "rule (there is nobody to ask)"
		err = x.logNobodyToAsk()
	case err != nil:
		answer, by = approveNot, "no answer in time"
		err = x.sendSilent(terminal.Frame{Text: "🔐 There was no answer, so this was refused: " + visibleLine(commandSubject(c))})
	}
	if err != nil {
		return false, err
	}
	if answer == approveAlways {
		x.s.Approved = append(x.s.Approved, c.Type)
	}
	return answer == approveOnce || answer == approveAlways, x.t.Emit(terminal.Frame{
		Kind: terminal.Log, Level: "info", Audit: true, Text: fmt.Sprintf("approval: %s %q: %s by %s", c.Type, terminal.OneLine(terminal.Visible(commandSubject(c)), 500), answer, by),
	})
}

// logNobodyToAsk logs once per turn that nobody can be asked. There is nobody in the chat to tell.
func (x *turn) logNobodyToAsk() error {
	if x.loggedNobodyToAsk {
		return nil
	}
	x.loggedNobodyToAsk = true
	return x.t.Emit(terminal.Frame{Kind: terminal.Log, Level: "warning", Text: "there is nobody here to ask, so commands that need approval are refused; blocks.approve says which"})
}

// commandSubject returns the file or the shell command of a command.
func commandSubject(c Command) string {
	if c.Type == RunCommand {
		return c.Text
	}
	return c.Path
}

// needsApproval reports whether the person must approve commands of this type.
func (x *turn) needsApproval(t CommandType) bool {
	switch {
	case x.settings.Approve == approveNever, slices.Contains(x.s.Approved, t):
		return false
	case t == RunCommand || t == DeleteFile:
		return true
	}
	return x.settings.Approve == approveAll
}

// showLongCommand sends a command that is too long for a question as a document.
func (x *turn) showLongCommand(c Command) error {
	if c.Type != RunCommand || truncate(c.Text, maxQuestionLength) == strings.TrimRight(terminal.Visible(c.Text), "\n") {
		return nil
	}
	const name = "command.txt"
	if err := writeFile(x.files.outbox, name, []byte(c.Text), false); err != nil {
		return err
	}
	dir := filepath.Join(x.files.path, outboxName)
	return x.sendSilent(terminal.Frame{Text: "The next question is about this command, which is too long for a message.", ProtocolDir: dir, Media: []string{filepath.Join(dir, name)}})
}

// runQuestion returns the question about a shell command.
func runQuestion(command string) string {
	return "🔐 Run this command?\n" + terminal.CodeBlock("sh", truncate(command, maxQuestionLength))
}

// question returns the question about a change of a file.
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

// visiblePath shows a path completely, or its two ends if it is extremely long.
func visiblePath(path string) string {
	path = strings.ReplaceAll(terminal.Visible(path), "\n", "\u240a")
	if runes := []rune(path); len(runes) > maxQuestionLength {
		half := maxQuestionLength / 2
		path = string(runes[:half]) + "…" + string(runes[len(runes)-half:])
	}
	return terminal.CodeSpan(path)
}

// shortDiff returns the first lines of the planned change.
func (p plannedChange) shortDiff() string {
	if p.cut || max(len(p.before), len(p.after)) > maxCompared {
		return fmt.Sprintf("(too large to be compared; it will have %d bytes)", len(p.after))
	}
	diff := terminal.Visible(linediff.Compare(validText(p.before), validText(p.after)).Unified())
	if diff == "" {
		return "(no change)"
	}
	lines := strings.SplitAfter(diff, "\n")
	short := strings.Join(lines[:min(len(lines), maxQuestionLines)], "")
	return terminal.CodeBlock("diff", truncate(short, maxQuestionLength)+moreLines(len(lines)-maxQuestionLines-1))
}

// moreLines states how many lines are omitted.
func moreLines(lines int) string {
	switch {
	case lines <= 0:
		return ""
	case lines == 1:
		return "\n(1 more line)"
	}
	return fmt.Sprintf("\n(%d more lines)", lines)
}

// truncate shortens a text and states how many bytes are omitted.
func truncate(s string, limit int) string {
	s = strings.TrimRight(terminal.Visible(s), "\n")
	short := terminal.Shorten(s, limit)
	if short == s {
		return s
	}
	return fmt.Sprintf("%s\n(%d more bytes)", short, len(s)-len(short)+len("…"))
}
