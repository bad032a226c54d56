package blocks

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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

// approvals decide which commands of a turn are executed.
type approvals struct {
	x *turn
	// loggedNobody means that the log says that nobody can be asked.
	loggedNobody bool
}

// ask asks the person about a command, the nth of the response, if it needs approval. It reports
// whether the command may be executed; an error ends the turn.
func (a *approvals) ask(ctx context.Context, c Command, n int, protected bool, q question) (bool, error) {
	if !a.needed(c.Type, protected) {
		return true, nil
	}
	x, options := a.x, approvalOptions
	if protected {
		options = protectedOptions
	}
	var texts []string
	for _, k := range options {
		texts = append(texts, x.text(k))
	}
	if err := x.board.Show(); err != nil { // no command; the gateway says that the turn waits
		return false, err
	}
	resume := x.t.AwaitPerson(ctx)
	reply, err := a.putQuestion(ctx, q, terminal.Question{
		// Deterministic, so that a turn that is repeated after a crash finds the stored answer. The
		// text belongs to the ID of a change, whose file may be another one by then.
		ID: fmt.Sprintf("blocks-%s-%d-%d", x.s.ID, x.s.Sequence, n), UniqueID: c.Type == RunCommand,
		Options: texts, Timeout: approvalTimeout, Approval: true,
	}, c.Type)
	if rerr := resume(ctx); rerr != nil {
		return false, rerr
	}
	answer, by := approveNot, "user "+terminal.OneLine(reply.By, 80)
	if reply.Option >= 1 && reply.Option <= len(options) {
		answer = options[reply.Option-1]
	}
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, terminal.ErrNobodyToAsk):
		by = "rule (there is nobody to ask)"
		err = a.logNobody()
	case err != nil:
		by = "rule (no answer: " + terminal.OneLine(err.Error(), 80) + ")"
		err = x.sendSilent(terminal.Frame{Text: x.text(words.BlocksRefused, visibleLine(commandSubject(c)))})
	}
	if err != nil {
		return false, err
	}
	if answer == approveAlways {
		x.s.Approved = append(x.s.Approved, c.Type)
	}
	return answer == approveOnce || answer == approveAlways, x.t.Emit(terminal.Frame{
		Kind: terminal.Log, Level: "info", Audit: true,
		Text: fmt.Sprintf("approval: %s %s: %s by %s", c.Type, terminal.AuditQuote(commandSubject(c)),
			words.Words{}.Text(answer), by),
	})
}

// logNobody logs once per turn that nobody can be asked. There is nobody in the chat to tell.
func (a *approvals) logNobody() error {
	if a.loggedNobody {
		return nil
	}
	a.loggedNobody = true
	return a.x.t.Emit(terminal.Frame{
		Kind: terminal.Log, Level: "warning",
		Text: "there is nobody here to ask, so commands that need approval are refused; blocks.approve says which",
	})
}

// commandSubject returns the file or the shell command of a command.
func commandSubject(c Command) string {
	if c.Type == RunCommand {
		return c.Text
	}
	return c.Path
}

// needed reports whether the person must approve a command. Approval of all commands of a type does
// not cover protected files.
func (a *approvals) needed(t CommandType, protected bool) bool {
	switch {
	case protected:
		return true
	case a.x.settings.Approve == approveNever, slices.Contains(a.x.s.Approved, t):
		return false
	case t == RunCommand || t == DeleteFile:
		return true
	}
	return a.x.settings.Approve == approveAll
}

// question is a question for approval, and a document with what it shows only in part; "": none.
type question struct{ text, document string }

// putQuestion sends the document of a question, and then the question.
func (a *approvals) putQuestion(ctx context.Context, q question, ask terminal.Question, t CommandType) (
	terminal.Answer, error,
) {
	ask.Text = q.text
	if q.document != "" {
		ask.ID += fmt.Sprintf("-%x", sha256.Sum256([]byte(q.document)))
		name := "changes.diff"
		if t == RunCommand {
			name = "command.txt"
		}
		if err := terminal.SendDocument(a.x.t.Words, name, q.document, a.x.sendSilent); err != nil {
			return terminal.Answer{}, err
		}
	}
	return a.x.t.Ask(ctx, ask)
}

// runQuestion returns the question about a shell command.
func runQuestion(w words.Words, command string) (q question) {
	shown, whole := terminal.Excerpt(w, command, maxQuestionLength)
	if !whole {
		q.document = command
	}
	q.text = w.Text(words.BlocksRunThis) + "\n" + terminal.CodeBlock("sh", shown)
	return q
}

// question returns the question about a change of a file.
func (p plannedChange) question(w words.Words, c Command) (q question) {
	name := visiblePath(p.file)
	switch {
	case c.Type == DeleteFile && p.link != "":
		q.text = w.Text(words.BlocksDeleteLink, visiblePath(p.link), name)
	case c.Type == DeleteFile:
		q.text = w.Text(words.BlocksDelete, name)
	default:
		title := words.BlocksCreate
		switch {
		case c.Type == EditFile:
			title = words.BlocksEdit
		case p.existed:
			title = words.BlocksOverwrite
		}
		shown, cut := p.shortDiff(w, c)
		q.text = w.Text(title, name) + "\n" + shown
		if cut != "" {
			q.document = fmt.Sprintf("--- %s\n+++ %s\n%s", diffName("a/", p.file), diffName("b/", p.file), cut)
		}
	}
	if p.protected {
		q.text += "\n" + w.Text(words.FileProtected)
	}
	return q
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

// shortDiff returns the first lines of the planned change, and the whole change if there are more:
// what the command writes, if the file is too large to be compared.
func (p plannedChange) shortDiff(w words.Words, c Command) (shown, cut string) {
	if p.cut || max(len(p.before), len(p.after)) > maxCompared {
		if c.Type == EditFile {
			cut = fmt.Sprintf("@@ -%d,%d @@\n", c.StartLine, c.EndLine-c.StartLine+1)
		}
		return w.Text(words.BlocksTooLarge, len(p.after)), cut + c.Text + "\n"
	}
	diff := showBytes(linediff.Compare(string(p.before), string(p.after)).Unified())
	if diff == "" {
		return w.Text(words.BlocksNoChange), ""
	}
	lines := strings.SplitAfter(diff, "\n")
	more := len(lines) - maxQuestionLines - 1
	shown, whole := terminal.Excerpt(w, strings.Join(lines[:min(len(lines), maxQuestionLines)], ""), maxQuestionLength)
	if more > 0 {
		shown += "\n" + w.Text(words.BlocksMoreLines, more)
	}
	if more > 0 || !whole {
		cut = diff
	}
	return terminal.CodeBlock("diff", shown), cut
}

// showBytes replaces each byte that is not UTF-8 with its value, so that a change of it is seen.
func showBytes(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, "<0x%02X>", text[0])
		} else {
			b.WriteRune(r)
		}
		text = text[n:]
	}
	return b.String()
}

// refuseProtected refuses to change a protected file without asking, and tells the person.
func (a *approvals) refuseProtected(c Command) (Result, error) {
	x := a.x
	if err := x.sendSilent(terminal.Frame{Text: x.text(words.BlocksNeverChanged, visiblePath(c.Path))}); err != nil {
		return Result{}, err
	}
	return newResult(c.Type, false, words.BlocksProtected, shortSummary(c.Path)), x.t.Emit(terminal.Frame{
		Kind: terminal.Log, Level: "info", Audit: true,
		Text: fmt.Sprintf("approval: %s %s: No by rule (the file is protected)", c.Type, terminal.AuditQuote(c.Path)),
	})
}
