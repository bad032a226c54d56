package blocks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"nanobot/terminal"
)

// maxCommands is how many commands of one response are executed. The session file is written after
// each of them, and its size grows with their number.
const maxCommands = 1000

// interrupted is the result of a command that a crash has cut off.
const interrupted = "Interrupted: the gateway stopped while this ran"

// execute executes the commands of the response that have no result yet. It reports whether the
// task is done.
func (x *turn) execute(ctx context.Context) (done bool, err error) {
	commands, err := x.commands()
	if err != nil {
		return false, err
	}
	for i := len(x.s.Results); i < len(commands); i++ {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		r, err := x.do(ctx, commands[i], i)
		if err != nil {
			return false, err
		}
		x.s.add(r)
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

// commands reads the response.
func (x *turn) commands() ([]Command, error) {
	content, err := readFile(x.files.inbox, x.s.Response, x.t.MaxLine)
	if errors.Is(err, fs.ErrNotExist) { // it was put away before a crash
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
	commands := Parse(string(content))
	switch n := len(commands); {
	case n == 0:
		commands = []Command{{Type: ParseError, Text: noCommands}}
	case n > maxCommands:
		commands = append(commands[:maxCommands:maxCommands],
			Command{Type: ParseError, Text: fmt.Sprintf("Only the first %d of %d commands were executed", maxCommands, n)})
	}
	return commands, nil
}

// noCommands is the result of a response without any command.
const noCommands = "No commands found in the response"

// do executes one command, the nth of the response. An error is what we could not do: the command
// has no result then.
func (x *turn) do(ctx context.Context, c Command, n int) (Result, error) {
	if x.s.Begun && c.Path != "" {
		x.space.removeTemp(c.Path)
	}
	if x.s.Begun && !repeatable(c.Type) {
		if c.Path != "" {
			_ = x.changes.record(c.Path) // what cannot be recorded is not undone
		}
		return Result{Type: c.Type, Summary: interrupted}, nil
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
		return r, x.say(terminal.Frame{Text: c.Text})
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

// repeatable reports whether a command that was cut off is executed again, since it does the same
// as once.
func repeatable(t CommandType) bool { return t != EditFile && t != DeleteFile && t != RunCommand }

// begin notes that a command begins.
func (x *turn) begin() error {
	x.s.Begun = true
	return x.store(true)
}

// requestFile queues a file for the next outbox.
func (x *turn) requestFile(c Command) Result {
	if _, err := x.space.stat(c.Path); err != nil {
		return failure(c, "read", err)
	}
	x.s.request(c.Path)
	return Result{Type: c.Type, Success: true, Summary: fmt.Sprintf("Queued '%s' for next outbox", c.Path)}
}

// runCommand executes RUN_COMMAND.
func (x *turn) runCommand(ctx context.Context, c Command, n int) (Result, error) {
	if ok, err := x.approved(ctx, c, n, func() string { return runQuestion(c.Text) }); !ok || err != nil {
		return notApproved(c), err
	}
	if err := x.begin(); err != nil {
		return Result{}, err
	}
	if err := x.board.showRunning(c); err != nil {
		return Result{}, err
	}
	run := commandRun{place: x.t.ExecEnv, timeout: x.set.timeout(), limit: x.set.OutputLimit, started: x.t.AttachProcess}
	r := run.run(ctx, c.Text)
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	return r, nil
}

// changeFile executes a command that changes a file.
func (x *turn) changeFile(ctx context.Context, c Command, n int) (Result, error) {
	p, fail := x.prepare(c)
	if fail != nil {
		return *fail, nil
	}
	if !x.s.Begun && x.needsApproval(c.Type) { // else it was approved before a crash
		if ok, err := x.approved(ctx, c, n, func() string { return p.question(c) }); !ok || err != nil {
			return notApproved(c), err
		}
		again, fail := x.prepare(c) // the file may have changed while the person was asked
		switch {
		case fail != nil:
			return *fail, nil
		case !again.startsFrom(p):
			return failure(c, verbs[c.Type], errChanged), nil
		}
	}
	return x.applyChange(c, p)
}

// errChanged refuses a change that was meant for another content.
var errChanged = errors.New("the file has changed meanwhile")

// applyChange changes a file as it was planned, unless another session has changed it since.
func (x *turn) applyChange(c Command, planned plannedChange) (Result, error) {
	x.writing.Lock()
	defer x.writing.Unlock()
	if err := x.changes.save(c.Path); err != nil {
		return failure(c, verbs[c.Type], err), nil
	}
	if err := x.begin(); err != nil {
		return Result{}, err
	}
	p, fail := x.prepare(c)
	switch {
	case fail != nil:
		return *fail, nil
	case p.file != planned.file || p.link != planned.link, x.needsApproval(c.Type) && !p.startsFrom(planned):
		return failure(c, verbs[c.Type], errChanged), nil
	}
	var err error
	if c.Type == DeleteFile {
		err = x.space.remove(c.Path)
	} else {
		err = x.space.write(c.Path, p.after)
	}
	if err != nil {
		return failure(c, verbs[c.Type], err), nil
	}
	_ = x.changes.record(c.Path) // what cannot be recorded is not undone
	return Result{Type: c.Type, Success: true, Summary: succeeded(c)}, nil
}

// plannedChange is what a command would make of a file.
type plannedChange struct {
	file, link    string // as workspace.target returns them
	existed       bool
	before, after []byte
	cut           bool // before is only the beginning of the file
}

// startsFrom reports whether the file is still the one that another change was planned for.
func (p plannedChange) startsFrom(other plannedChange) bool {
	return p.file == other.file && p.link == other.link && p.existed == other.existed && bytes.Equal(p.before, other.before)
}

// maxEdited is how many bytes a file may have that EDIT_FILE changes: it is held in memory.
const maxEdited = 16 << 20

// prepare finds out what a command would do, and does nothing. The result is nil if it can be done.
func (x *turn) prepare(c Command) (p plannedChange, fail *Result) {
	err := x.readBefore(c, &p)
	switch {
	case err == nil && c.Type == EditFile:
		edited, lines, ok := replaceLines(p.before, c.StartLine, c.EndLine, c.Text)
		if !ok {
			return p, &Result{Type: c.Type, Summary: fmt.Sprintf("Invalid line range %d-%d for file with %d lines", c.StartLine, c.EndLine, lines)}
		}
		p.after = edited
	case err == nil, c.Type == CreateFile && errors.Is(err, errNotFound):
		p.after = []byte(c.Text)
	default:
		r := failure(c, verbs[c.Type], err)
		return p, &r
	}
	return p, nil
}

// readBefore finds out what a file is before a command changes it.
func (x *turn) readBefore(c Command, p *plannedChange) (err error) {
	if p.file, p.link, err = x.space.target(c.Path); err != nil {
		return notFound(err)
	}
	size, err := x.space.stat(c.Path)
	p.existed, p.cut = err == nil, size > maxEdited
	switch {
	case err != nil:
		return err
	case c.Type == EditFile && p.cut:
		return fmt.Errorf("it has more than %d MiB", maxEdited>>20)
	case c.Type == EditFile, c.Type == CreateFile && x.set.Approve == approveAll && !p.cut:
		p.before, _, err = x.space.read(c.Path, maxEdited)
	}
	return err
}

// verbs name the commands in a failure.
var verbs = map[CommandType]string{CreateFile: "create", EditFile: "edit", DeleteFile: "delete"}

// succeeded is the summary of a file command that was executed.
func succeeded(c Command) string {
	if c.Type == EditFile {
		return fmt.Sprintf("Edited '%s' lines %d-%d", c.Path, c.StartLine, c.EndLine)
	}
	if c.Type == DeleteFile {
		return fmt.Sprintf("Deleted '%s'", c.Path)
	}
	return fmt.Sprintf("Created '%s'", c.Path)
}

// failure is the result of a file command that could not be executed.
func failure(c Command, verb string, err error) Result {
	r := Result{Type: c.Type}
	switch {
	case errors.Is(err, errOutside):
		r.Summary = fmt.Sprintf("REJECTED: Path '%s' is outside workspace", shortSummary(c.Path))
	case errors.Is(err, errNotFound):
		r.Summary = fmt.Sprintf("File '%s' not found", shortSummary(c.Path))
	default:
		r.Summary = fmt.Sprintf("Failed to %s '%s': %s", verb, shortSummary(c.Path), reason(err))
	}
	return r
}

// notApproved is the result of a command that the person has not approved.
func notApproved(c Command) Result {
	return Result{Type: c.Type, Summary: "REJECTED: not approved: " + shortSummary(subject(c))}
}
