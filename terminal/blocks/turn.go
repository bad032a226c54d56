package blocks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/steps"
)

// turn is the processing of one message: in each round the model gets an outbox, and its response
// is executed.
type turn struct {
	t        terminal.Turn
	settings *Settings
	command  string // of the person; "": the message is a task
	files    *folder
	space    *workspace
	s        *session
	changes  *changes
	board    board
	// fileMu is held while a file is changed, so that sessions of different chats do not change
	// files at the same time.
	fileMu    *sync.Mutex
	approvals approvals
	// hints are for the model, about the response that is being executed.
	hints []string
}

// transport passes outboxes to a model.
type transport interface {
	// roundTrip passes on the outbox of the newest round and returns when the response is in the
	// inbox.
	roundTrip(ctx context.Context) (response, error)
}

// response is a file in the inbox.
type response struct {
	name    string
	savedAs string // the name that a person has given it; "" if none
}

// findSession finds or creates the session of the turn. It reports false if the turn should resume
// a session and there is none.
func (x *turn) findSession() (bool, error) {
	all, err := x.files.loadSessions()
	if err != nil {
		return false, err
	}
	x.files.prune(all)
	all = slices.DeleteFunc(all, func(s *session) bool { return !s.worksIn(x.space.dir) })
	for _, s := range all { // the turn may be repeated after a crash
		if s.Run == x.t.Run {
			x.s = s
			return true, nil
		}
	}
	if x.command == resumeCommand {
		for _, s := range all {
			if !s.Complete {
				x.s, s.Run = s, x.t.Run
				return true, x.save()
			}
		}
		return false, nil
	}
	x.files.pruneRead()
	x.s = newSession(x.files.newID(), x.t.Envelope.Task("Files that came with this, for RUN_COMMAND:"), x.t.Run)
	x.s.Workspace = x.space.dir
	return true, x.save()
}

// openChanges opens the record of the files that the session has touched.
func (x *turn) openChanges() error {
	copies, err := x.files.openCopies(x.s.ID)
	if err != nil {
		return fmt.Errorf("open saved copies: %w", err)
	}
	x.changes = &changes{list: x.s.Changes, copies: copies, workspace: x.space}
	x.space.temp = x.s.ID
	return nil
}

// save writes the session file without syncing it to disk.
func (x *turn) save() error { return x.saveSession(false) }

// saveSession writes the session file. Without sync a power failure may lose a result, but never
// the mark that a command has started.
func (x *turn) saveSession(sync bool) error {
	x.s.UpdatedAt = time.Now().UTC()
	if x.changes != nil {
		x.s.Changes = x.changes.list
	}
	return x.files.saveSession(x.s, sync)
}

// run runs rounds until the session is complete.
func (x *turn) run(ctx context.Context, model transport) (terminal.Outcome, error) {
	x.approvals.x = x
	x.board = board{Board: steps.Board{Emit: x.t.Emit, Words: x.t.Words}}
	if x.s.Reported { // the turn is repeated after its end was reported
		out, err := x.emitEnd(x.repeatedMessage)
		out.Status = x.endStatus()
		return out, err
	}
	for round := 1; !x.s.Complete; round++ {
		if err := x.round(ctx, model, round); err != nil {
			return x.endBroken(ctx, err)
		}
	}
	out, err := x.emitEnd(x.finalMessage)
	if err != nil {
		return out, err
	}
	out.Status, x.s.Reported = x.endStatus(), true
	return out, x.save()
}

// endStatus returns how a complete session has ended.
func (x *turn) endStatus() terminal.Status {
	switch last := x.s.Last; {
	case last == steps.Refused:
		return terminal.Refused
	case last == steps.Failed && strings.TrimSpace(x.s.Summary) == "":
		return terminal.Failed
	}
	return terminal.Done
}

// round waits for a response unless one is stored already, and executes it.
func (x *turn) round(ctx context.Context, model transport, round int) error {
	if x.s.Sequence == 0 {
		if err := x.writeOutbox(); err != nil {
			return err
		}
	}
	if x.s.Response == "" {
		if round > x.settings.MaxRounds {
			return &agentError{
				x.text(words.BlocksTooManyRounds, x.settings.MaxRounds),
				terminal.AgentExit{Exit: process.Exit{Code: 1, Stderr: process.NewBounded(0, 0)}},
			}
		}
		if err := x.board.beginRound(x.s.Sequence, x.settings.Agent == personAgent); err != nil {
			return err
		}
		r, err := model.roundTrip(ctx)
		if err != nil {
			return err
		}
		x.s.startResponse(r)
		if err := x.save(); err != nil {
			return err
		}
	}
	done, err := x.execute(ctx)
	if err != nil {
		return err
	}
	return x.endRound(done)
}

// endRound moves the executed response to processed, and writes the next outbox unless the task is
// done.
func (x *turn) endRound(done bool) error {
	if err := x.files.moveToProcessed(response{x.s.Response, x.s.SavedAs}); err != nil {
		return err
	}
	if !done {
		return x.writeOutbox()
	}
	x.s.Complete, x.s.Response = true, ""
	return x.save()
}

// writeOutbox writes the outbox of the next round, unless it was written before a crash.
func (x *turn) writeOutbox() error {
	next := x.s.Sequence + 1
	name := roundFile(x.s.ID, next)
	if info, err := x.files.outbox.Lstat(name); err != nil || !info.Mode().IsRegular() {
		files, err := x.space.list(maxListed)
		if err != nil {
			return err
		}
		text := outbox{
			session: x.s.ID, sequence: next, task: x.s.Task, earlier: x.s.Earlier, files: files,
			results: x.s.Results, hints: x.hints, contents: x.space.readRequested(x.s.RequestedFiles),
		}.text()
		if err := writeFile(x.files.outbox, name, []byte(text), false); err != nil {
			return err
		}
	}
	x.s.Sequence, x.s.Response = next, ""
	return x.save()
}

// maxListed limits the files in the listing of an outbox.
const maxListed = 1000

const (
	// maxContent limits the bytes of a requested file in an outbox, maxContents the bytes of all of
	// them.
	maxContent, maxContents = 100_000, 8 << 20
)

// readRequested reads the files that READ_FILE has requested.
func (w *workspace) readRequested(paths []string) []requestedFile {
	var all []requestedFile
	left := maxContents
	for _, path := range paths {
		f := requestedFile{path: path}
		content, size, err := w.read(path, int64(min(maxContent, left)))
		if err == nil {
			f.found, f.size, f.cut = true, size, size > int64(len(content))
			f.binary, f.content = bytes.IndexByte(content, 0) >= 0, string(content)
			left -= len(content)
		}
		all = append(all, f)
	}
	return all
}

// sendMessage sends a message to the chat. Its number keeps a turn repeated after a crash from
// sending it twice.
func (x *turn) sendMessage(f terminal.Frame) error {
	f.Kind = terminal.Message
	if x.s == nil {
		return x.t.Emit(f)
	}
	f.Sequence = x.s.MessagesSent + 1
	err := x.t.Emit(f)
	if err == nil {
		x.s.MessagesSent++
	}
	return err
}

// sendSilent sends a message that notifies nobody, because more of the turn follows.
func (x *turn) sendSilent(f terminal.Frame) error {
	f.Silent = true
	return x.sendMessage(f)
}

// sendResult sends the message that a function returns.
func (x *turn) sendResult(message func() (terminal.Frame, error)) error {
	f, err := message()
	if err != nil {
		return err
	}
	return x.sendMessage(f)
}

// text returns a text in the language of the person.
func (x *turn) text(k words.Key, values ...any) string { return x.t.Words.Text(k, values...) }

// agentError means that the agent's command has failed, or that the task needed too many rounds.
type agentError struct {
	text string
	exit terminal.AgentExit
}

func (e *agentError) Error() string { return e.text }

// endBroken ends a turn that cannot continue. The session can be resumed.
func (x *turn) endBroken(ctx context.Context, err error) (terminal.Outcome, error) {
	var failed *agentError
	switch {
	case ctx.Err() != nil:
		return x.endStopped(ctx)
	case errors.As(err, &failed):
		if short := failed.exit.Shortage(); short != nil {
			return terminal.Outcome{}, short
		}
		return x.endFailed(failed.text, failed.exit)
	}
	return terminal.Outcome{}, err
}

// endStopped ends a turn that was stopped or timed out.
func (x *turn) endStopped(ctx context.Context) (terminal.Outcome, error) {
	return x.endResumable(terminal.NewFinalResponse(x.t.MaxOutput), terminal.AgentExit{
		Exit: process.Exit{Forced: true, Stderr: process.NewBounded(0, 0)}, Cause: context.Cause(ctx),
	})
}

// endFailed ends the turn with an error.
func (x *turn) endFailed(why string, ended terminal.AgentExit) (terminal.Outcome, error) {
	end := terminal.NewFinalResponse(x.t.MaxOutput)
	end.AddError(terminal.Frame{Text: why})
	return x.endResumable(end, ended)
}

// endResumable ends the turn and tells the person about /resume.
func (x *turn) endResumable(end *terminal.FinalResponse, ended terminal.AgentExit) (terminal.Outcome, error) {
	if err := x.foldBoard(terminal.Fold{}); err != nil {
		return terminal.Outcome{}, err
	}
	end.AddRemark(x.text(words.BlocksResumable))
	return end.Emit(x.t, ended)
}
