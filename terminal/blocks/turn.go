package blocks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"nanobot/terminal"
	"nanobot/terminal/process"
)

// turn is one message worked on: round by round the model is handed an outbox, and its response is
// executed.
type turn struct {
	t       terminal.Turn
	set     *Settings
	files   *folder
	space   *workspace
	s       *session
	changes *changes
	board   board
	// writing is held while a file is changed, so that sessions of other chats do not change it
	// meanwhile.
	writing *sync.Mutex
	// toldNobody says that the person knows that nobody can be asked for approval.
	toldNobody bool
}

// transport is how a model is handed an outbox.
type transport interface {
	// respond hands over the outbox of the session's newest round, and returns once the response is
	// in the inbox.
	respond(ctx context.Context) (response, error)
}

// response is a file in the inbox.
type response struct {
	name    string
	savedAs string // the name that a person has given it; "": none
}

// findSession finds the session of the turn, or begins one. It reports false if the turn is to
// resume a session and there is none.
func (x *turn) findSession() (bool, error) {
	all, err := x.files.loadSessions()
	if err != nil {
		return false, err
	}
	x.files.prune(all)
	all = slices.DeleteFunc(all, func(s *session) bool { return !s.worksIn(x.space.dir) })
	for _, s := range all { // the turn may be run again after a crash
		if s.Run == x.t.Run {
			x.s = s
			return true, nil
		}
	}
	if commandOf(x.t.Envelope.Text) == resumeCommand {
		for _, s := range all {
			if !s.Complete {
				x.s, s.Run = s, x.t.Run
				return true, x.save()
			}
		}
		return false, nil
	}
	x.files.pruneRead()
	x.s = newSession(x.files.newID(), x.task(), x.t.Run)
	x.s.Workspace = x.space.dir
	return true, x.save()
}

// task is the person's message, with the files that came with it.
func (x *turn) task() string {
	if len(x.t.Envelope.Media) == 0 {
		return x.t.Envelope.Text
	}
	return strings.TrimLeft(x.t.Envelope.Text+"\n\nFiles that came with this, for RUN_COMMAND:\n"+strings.Join(x.t.Envelope.Media, "\n"), "\n")
}

// openChanges opens what is known of the files that the session has touched.
func (x *turn) openChanges() error {
	copies, err := x.files.copies(x.s.ID)
	if err != nil {
		return fmt.Errorf("open saved copies: %w", err)
	}
	x.changes = &changes{list: x.s.Changes, copies: copies, w: x.space}
	x.space.temp = x.s.ID
	return nil
}

func (x *turn) closeChanges() { _ = x.changes.copies.Close() }

// save writes the session file.
func (x *turn) save() error { return x.store(false) }

// store writes the session file. Without sync a power failure may lose a result, but never the mark
// that a command has begun.
func (x *turn) store(sync bool) error {
	x.s.UpdatedAt = time.Now().UTC()
	if x.changes != nil {
		x.s.Changes = x.changes.list
	}
	return x.files.saveSession(x.s, sync)
}

// run works on the session until it is complete.
func (x *turn) run(ctx context.Context, model transport) (terminal.Outcome, error) {
	x.board = board{emit: x.t.Emit}
	if x.s.Told { // the turn ended, or a crash came between this and its end
		return x.endWith(x.repeatedMessage)
	}
	for round := 1; !x.s.Complete; round++ {
		if err := x.round(ctx, model, round); err != nil {
			return x.broken(ctx, err)
		}
	}
	out, err := x.endWith(x.finalMessage)
	if err != nil {
		return out, err
	}
	x.s.Told = true
	return out, x.save()
}

// round has the model answer, unless a response waits already, and executes the response.
func (x *turn) round(ctx context.Context, model transport, round int) error {
	if x.s.Sequence == 0 {
		if err := x.writeOutbox(); err != nil {
			return err
		}
	}
	if x.s.Response == "" {
		if round > x.set.MaxRounds {
			return roundsError(x.set.MaxRounds)
		}
		if err := x.board.beginRound(x.s.Sequence, x.set.Agent == personAgent); err != nil {
			return err
		}
		r, err := model.respond(ctx)
		if err != nil {
			return err
		}
		x.s.begin(r)
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

// endRound puts the response away that was executed, and writes the next outbox unless the task is
// done.
func (x *turn) endRound(done bool) error {
	name := cmp.Or(x.s.SavedAs, x.s.Response)
	if info, err := x.files.processed.Lstat(name); err == nil && info.IsDir() {
		_ = x.files.processed.RemoveAll(name) // else the rename fails
	}
	err := x.files.inbox.Rename(x.s.Response, processedName+"/"+name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it was moved before a crash
		return fmt.Errorf("move response: %w", err)
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
			session: x.s.ID, sequence: next, task: x.s.Task, files: files, results: x.s.Results, contents: x.requestedFiles(),
		}.text()
		if err := writeFile(x.files.outbox, name, []byte(text), false); err != nil {
			return err
		}
	}
	x.s.Sequence, x.s.Response = next, ""
	return x.save()
}

// maxListed is how many files of the workspace an outbox lists.
const maxListed = 1000

const (
	// maxContent is how many bytes of a requested file an outbox shows, and maxContents how many of
	// all of them.
	maxContent, maxContents = 100_000, 8 << 20
)

// requestedFiles reads the files that READ_FILE has asked for.
func (x *turn) requestedFiles() []requestedFile {
	var all []requestedFile
	left := maxContents
	for _, path := range x.s.Reads {
		f := requestedFile{path: path}
		content, size, err := x.space.read(path, int64(min(maxContent, left)))
		if err == nil {
			f.found, f.size, f.cut = true, size, size > int64(len(content))
			f.binary, f.content = bytes.IndexByte(content, 0) >= 0, string(content)
			left -= len(content)
		}
		all = append(all, f)
	}
	return all
}

// say sends a message to the chat. After a crash the message of the same number is not sent again.
func (x *turn) say(f terminal.Frame) error {
	f.Kind = terminal.Message
	if x.s == nil {
		return x.t.Emit(f)
	}
	f.Sequence = x.s.Said + 1
	err := x.t.Emit(f)
	if err == nil {
		x.s.Said++
	}
	return err
}

// sayResult sends a message that may not come about.
func (x *turn) sayResult(message func() (terminal.Frame, error)) error {
	f, err := message()
	if err != nil {
		return err
	}
	return x.say(f)
}

// roundsError says that the model did not come to an end.
type roundsError int

func (e roundsError) Error() string { return fmt.Sprintf("Stopped after %d rounds", int(e)) }

// agentError says that the agent's command has failed.
type agentError struct {
	text  string
	ended terminal.AgentExit
}

func (e *agentError) Error() string { return e.text }

// broken ends a turn that cannot go on. The session can be resumed.
func (x *turn) broken(ctx context.Context, err error) (terminal.Outcome, error) {
	var rounds roundsError
	var failed *agentError
	switch {
	case ctx.Err() != nil:
		return x.stop(ctx)
	case errors.As(err, &rounds):
		return x.fail(rounds.Error(), terminal.AgentExit{Exit: process.Exit{Code: 1, Stderr: process.NewBounded(0, 0)}})
	case errors.As(err, &failed):
		if short := failed.ended.Shortage(); short != nil {
			return terminal.Outcome{}, short
		}
		return x.fail(failed.text, failed.ended)
	}
	return terminal.Outcome{}, err
}

// stop ends a turn that was stopped, or whose time is up.
func (x *turn) stop(ctx context.Context) (terminal.Outcome, error) {
	return x.end(terminal.NewFinalResponse(x.t.MaxOutput), terminal.AgentExit{
		Exit: process.Exit{Forced: true, Stderr: process.NewBounded(0, 0)}, Cause: context.Cause(ctx),
	})
}

// fail ends the turn with an error.
func (x *turn) fail(why string, ended terminal.AgentExit) (terminal.Outcome, error) {
	end := terminal.NewFinalResponse(x.t.MaxOutput)
	end.AddError(terminal.Frame{Text: why})
	return x.end(end, ended)
}

// end ends the turn of a session that can be resumed.
func (x *turn) end(end *terminal.FinalResponse, ended terminal.AgentExit) (terminal.Outcome, error) {
	end.AddRemark("/resume goes on with the task.")
	return end.Emit(x.t, ended)
}
