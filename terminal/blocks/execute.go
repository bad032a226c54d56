package blocks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// maxCommands limits the commands of one response. The session file is written after each of them
// and grows with their number.
const maxCommands = 1000

// execute executes the commands of the response that have no result yet, and reports whether the
// task is done.
func (x *turn) execute(ctx context.Context) (done bool, err error) {
	commands, err := x.readCommands()
	if err != nil {
		return false, err
	}
	for i := len(x.s.Results); i < len(commands); i++ {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		r, err := x.executeCommand(ctx, commands[i], i)
		if err != nil {
			return false, err
		}
		x.s.addResult(r)
		if err := x.save(); err != nil {
			return false, err
		}
		if err := x.board.addResult(r); err != nil {
			return false, err
		}
	}
	for _, c := range commands {
		done = done || c.Type == Done
	}
	return done, nil
}

// readCommands parses the response.
func (x *turn) readCommands() ([]Command, error) {
	content, err := readFile(x.files.inbox, x.s.Response, x.t.MaxLine)
	if errors.Is(err, fs.ErrNotExist) { // moved before a crash
		content, err = readFile(x.files.processed, cmp.Or(x.s.SavedAs, x.s.Response), x.t.MaxLine)
	}
	switch {
	case errors.Is(err, errTooLarge):
		return []Command{{Type: ParseError, Text: fmt.Sprintf("The response has more than %d bytes", x.t.MaxLine)}}, nil
	case errors.Is(err, fs.ErrNotExist):
		return []Command{{Type: ParseError, Text: "The response was removed before it was executed"}}, nil
	case err != nil:
		return nil, fmt.Errorf("read response: %w", err)
	}
	commands, hints := parseWithHints(string(content))
	x.hints = hints
	switch n := len(commands); {
	case n == 0:
		commands = []Command{{Type: ParseError, Text: noCommands}}
	case n > maxCommands:
		commands = append(commands[:maxCommands:maxCommands],
			Command{Type: ParseError, Text: fmt.Sprintf("Only the first %d of %d commands were executed", maxCommands, n)})
	}
	return commands, nil
}

// noCommands is the result of a response without commands.
const noCommands = "No commands found in the response"

// executeCommand executes one command, the nth of the response. An error means that the gateway
// failed, and that the command has no result.
func (x *turn) executeCommand(ctx context.Context, c Command, n int) (Result, error) {
	if x.s.Started && c.Path != "" {
		x.space.removeTemp(c.Path)
	}
	if x.s.Started && !isRepeatable(c.Type) {
		if c.Path != "" {
			_ = x.changes.record(c.Path) // a file whose state is not recorded is not undone
		}
		return newResult(c.Type, false, words.BlocksCutOff), nil
	}
	r := Result{Type: c.Type, Success: true, Summary: shortSummary(c.Text)}
	switch c.Type {
	case CreateFile, EditFile, DeleteFile:
		return x.changeFile(ctx, c, n)
	case ReadFile:
		return x.requestFile(c), nil
	case RunCommand:
		return x.runCommand(ctx, c, n)
	case Message:
		if c.Text == "" {
			return r, nil
		}
		return r, x.sendSilent(terminal.Frame{Text: c.Text})
	case Done:
		if x.s.Summary != "" && c.Text != "" {
			x.s.Summary += "\n\n"
		}
		x.s.Summary += c.Text
	case ParseError:
		r.Success = false
	}
	return r, nil
}

// isRepeatable reports whether an interrupted command is executed again, since executing it twice
// has the same effect.
func isRepeatable(t CommandType) bool { return t != EditFile && t != DeleteFile && t != RunCommand }

// markStarted records, synced to disk, that a command has started.
func (x *turn) markStarted() error {
	x.s.Started = true
	return x.saveSession(true)
}

// requestFile adds a file to the next outbox.
func (x *turn) requestFile(c Command) Result {
	if _, err := x.space.stat(c.Path); err != nil {
		return failedResult(c, err)
	}
	x.s.requestFile(c.Path)
	return newResult(c.Type, true, words.BlocksRequested, c.Path)
}

// runCommand executes RUN_COMMAND.
func (x *turn) runCommand(ctx context.Context, c Command, n int) (Result, error) {
	if ok, err := x.approvals.ask(ctx, c, n, false, runQuestion(x.t.Words, c.Text)); !ok || err != nil {
		return notApprovedResult(c), err
	}
	if err := x.markStarted(); err != nil {
		return Result{}, err
	}
	if err := x.board.showRunning(c); err != nil {
		return Result{}, err
	}
	r := x.runShell(ctx, c.Text)
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	return r, nil
}

// changeFile executes a command that changes a file.
func (x *turn) changeFile(ctx context.Context, c Command, n int) (Result, error) {
	p, fail := x.space.plan(c, x.settings.Approve == approveAll)
	if fail != nil {
		return *fail, nil
	}
	if p.protected && x.settings.Approve == approveNever {
		return x.approvals.refuseProtected(c)
	}
	// What has started was approved before a crash. A protected file is asked about all the same,
	// because the path may lead to another file now; an answer to the same question is found.
	if (!x.s.Started || p.protected) && x.approvals.needed(c.Type, p.protected) {
		if ok, err := x.approvals.ask(ctx, c, n, p.protected, p.question(x.t.Words, c)); !ok || err != nil {
			return notApprovedResult(c), err
		}
		again, fail := x.space.plan(c, x.settings.Approve == approveAll) // the file may have changed meanwhile
		switch {
		case fail != nil:
			return *fail, nil
		case !again.hasSameStart(p):
			return failedResult(c, errChanged), nil
		}
	}
	return x.applyChange(c, p)
}

// errChanged refuses a change that was planned for another content.
var errChanged = errors.New("the file has changed meanwhile")

// applyChange applies a planned change, unless the file has changed since.
func (x *turn) applyChange(c Command, planned plannedChange) (Result, error) {
	x.fileMu.Lock()
	defer x.fileMu.Unlock()
	if err := x.changes.save(c.Path); err != nil {
		return failedResult(c, err), nil
	}
	if err := x.markStarted(); err != nil {
		return Result{}, err
	}
	p, fail := x.space.plan(c, x.settings.Approve == approveAll)
	switch {
	case fail != nil:
		return *fail, nil
	case p.target != planned.target, x.approvals.needed(c.Type, p.protected) && !p.hasSameStart(planned):
		return failedResult(c, errChanged), nil
	}
	var err error
	if c.Type == DeleteFile {
		err = x.space.remove(c.Path)
	} else {
		err = x.space.write(c.Path, p.after)
	}
	if err != nil {
		return failedResult(c, err), nil
	}
	_ = x.changes.record(c.Path) // a file whose state is not recorded is not undone
	return changedResult(c), nil
}

// plannedChange is the effect that a command would have on a file.
type plannedChange struct {
	target
	existed       bool
	before, after []byte
	cut           bool // before is only the beginning of the file
}

// hasSameStart reports whether both changes start from the same file and content.
func (p plannedChange) hasSameStart(other plannedChange) bool {
	return p.target == other.target && p.existed == other.existed && bytes.Equal(p.before, other.before)
}

// maxEdited limits the size of a file that EDIT_FILE changes, because it is held in memory.
const maxEdited = 16 << 20

// plan computes the effect of a command without executing it. A question about any change shows
// what a new content replaces. fail is nil if the command can be executed.
func (w *workspace) plan(c Command, asksAll bool) (p plannedChange, fail *Result) {
	err := w.readBefore(c, asksAll, &p)
	switch {
	case err == nil && c.Type == EditFile:
		edited, lines, ok := replaceLines(p.before, c.StartLine, c.EndLine, c.Text)
		if !ok {
			fail := newResult(c.Type, false, words.BlocksNoSuchLines, c.StartLine, c.EndLine, lines)
			return p, &fail
		}
		p.after = edited
	case err == nil, c.Type == CreateFile && errors.Is(err, errNotFound):
		p.after = []byte(c.Text)
	default:
		r := failedResult(c, err)
		return p, &r
	}
	return p, nil
}

// readBefore reads the state of a file before a command changes it.
func (w *workspace) readBefore(c Command, asksAll bool, p *plannedChange) (err error) {
	if p.target, err = w.target(c.Path); err != nil {
		return asNotFound(err)
	}
	size, err := w.stat(c.Path)
	p.existed, p.cut = err == nil, size > maxEdited
	switch {
	case err != nil:
		return err
	case c.Type == EditFile && p.cut:
		return fmt.Errorf("it has more than %d MiB", maxEdited>>20)
	case c.Type == EditFile, c.Type == CreateFile && (asksAll || p.protected) && !p.cut:
		p.before, _, err = w.read(c.Path, maxEdited)
	}
	return err
}

// changedResult returns the result of a file command that succeeded.
func changedResult(c Command) Result {
	if c.Type == EditFile {
		return newResult(c.Type, true, words.BlocksEditedFile, c.Path, c.StartLine, c.EndLine)
	}
	if c.Type == DeleteFile {
		return newResult(c.Type, true, words.BlocksDeletedFile, c.Path)
	}
	return newResult(c.Type, true, words.BlocksCreatedFile, c.Path)
}

// failures are the texts about file commands that failed.
var failures = map[CommandType]words.Key{
	CreateFile: words.BlocksCreateFailed, EditFile: words.BlocksEditFailed, DeleteFile: words.BlocksDeleteFailed,
	ReadFile: words.BlocksReadFailed,
}

// failedResult returns the result of a file command that failed.
func failedResult(c Command, err error) Result {
	switch {
	case errors.Is(err, errOutside):
		return newResult(c.Type, false, words.BlocksOutside, shortSummary(c.Path))
	case errors.Is(err, errNotFound):
		return newResult(c.Type, false, words.BlocksNotFound, shortSummary(c.Path))
	}
	return newResult(c.Type, false, failures[c.Type], shortSummary(c.Path), errorReason(words.Words{}, err))
}

// notApprovedResult returns the result of a command that the person has not approved.
func notApprovedResult(c Command) Result {
	r := newResult(c.Type, false, words.BlocksNotApproved, shortSummary(commandSubject(c)))
	r.refused = true
	return r
}
