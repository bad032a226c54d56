package blocks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nanobot/internal/linediff"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// approvalOptions are the options of a question for approval, in their order.
var approvalOptions = []words.Key{approveOnce, approveNot, approveAlways}

// protectedOptions are the options of a question about a protected file.
var protectedOptions = approvalOptions[:2]

const (
	approveOnce   = words.ButtonYes
	approveNot    = words.ButtonNo
	approveAlways = words.ButtonAlways
)

// approvalTimeout limits the wait for an approval. Other chats do not wait meanwhile.
const approvalTimeout = time.Hour

// maxQuestionLength limits the characters of a command or a diff in a question, since a chat
// message has room for about 4,000. maxQuestionLines limits the lines of a diff.
const maxQuestionLength, maxQuestionLines = 1500, 30

// askApproval asks the person about a command, the nth of the response, if it needs approval. It
// reports whether the command may be executed; an error ends the turn.
func (x *turn) askApproval(ctx context.Context, c Command, n int, protected bool, question func() string) (bool, error) {
	if !x.needsApproval(c.Type, protected) {
		return true, nil
	}
	options := approvalOptions
	if protected {
		options = protectedOptions
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
		ID: fmt.Sprintf("blocks-%s-%d-%d", x.s.ID, x.s.Sequence, n), UniqueID: true,
		Text: question(), Options: x.texts(options), Timeout: approvalTimeout, Approval: true,
	})
	if rerr := resume(ctx); rerr != nil {
		return false, rerr
	}
	answer, by := approveNot, "user "+terminal.OneLine(a.By, 80)
	if a.Option >= 1 && a.Option <= len(options) {
		answer = options[a.Option-1]
	}
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, terminal.ErrNobodyToAsk):
		by = "rule (there is nobody to ask)"
		err = x.logNobodyToAsk()
	case err != nil:
		by = "no answer in time"
		err = x.sendSilent(terminal.Frame{Text: x.text(words.BlocksRefused, visibleLine(commandSubject(c)))})
	}
	if err != nil {
		return false, err
	}
	if answer == approveAlways {
		x.s.Approved = append(x.s.Approved, c.Type)
	}
	return answer == approveOnce || answer == approveAlways, x.t.Emit(terminal.Frame{
		Kind: terminal.Log, Level: "info", Audit: true, Text: fmt.Sprintf("approval: %s %s: %s by %s", c.Type, terminal.AuditQuote(commandSubject(c)), words.Words{}.Text(answer), by),
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

// needsApproval reports whether the person must approve a command. Approval of all commands of a
// type does not cover protected files.
func (x *turn) needsApproval(t CommandType, protected bool) bool {
	switch {
	case protected:
		return true
	case x.settings.Approve == approveNever, slices.Contains(x.s.Approved, t):
		return false
	case t == RunCommand || t == DeleteFile:
		return true
	}
	return x.settings.Approve == approveAll
}

// showLongCommand sends a command that its question shows only in part as a document.
func (x *turn) showLongCommand(c Command) error {
	if c.Type != RunCommand {
		return nil
	}
	if _, whole := terminal.Excerpt(x.t.Words, c.Text, maxQuestionLength); whole {
		return nil
	}
	return terminal.SendDocument(x.t.Words, "command.txt", c.Text, x.sendSilent)
}

// runQuestion returns the question about a shell command.
func runQuestion(w words.Words, command string) string {
	shown, _ := terminal.Excerpt(w, command, maxQuestionLength)
	return w.Text(words.BlocksRunThis) + "\n" + terminal.CodeBlock("sh", shown)
}

// question returns the question about a change of a file.
func (p plannedChange) question(w words.Words, c Command) string {
	if p.protected {
		return p.changeQuestion(w, c) + "\n" + w.Text(words.FileProtected)
	}
	return p.changeQuestion(w, c)
}

func (p plannedChange) changeQuestion(w words.Words, c Command) string {
	name := visiblePath(p.file)
	switch {
	case c.Type == DeleteFile && p.link != "":
		return w.Text(words.BlocksDeleteLink, visiblePath(p.link), name)
	case c.Type == DeleteFile:
		return w.Text(words.BlocksDelete, name)
	case c.Type == EditFile:
		return w.Text(words.BlocksEdit, name) + "\n" + p.shortDiff(w)
	case p.existed:
		return w.Text(words.BlocksOverwrite, name) + "\n" + p.shortDiff(w)
	}
	return w.Text(words.BlocksCreate, name) + "\n" + p.shortDiff(w)
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
func (p plannedChange) shortDiff(w words.Words) string {
	if p.cut || max(len(p.before), len(p.after)) > maxCompared {
		return w.Text(words.BlocksTooLarge, len(p.after))
	}
	diff := linediff.Compare(validText(p.before), validText(p.after)).Unified()
	if diff == "" {
		return w.Text(words.BlocksNoChange)
	}
	lines := strings.SplitAfter(diff, "\n")
	short := strings.Join(lines[:min(len(lines), maxQuestionLines)], "")
	shown, _ := terminal.Excerpt(w, short, maxQuestionLength)
	if more := len(lines) - maxQuestionLines - 1; more > 0 {
		shown += "\n" + w.Text(words.BlocksMoreLines, more)
	}
	return terminal.CodeBlock("diff", shown)
}
