package blocks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

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
	// toldNobody says that the person knows that nobody can be asked for approval.
	toldNobody bool
}

// agent is who answers an outbox.
type agent interface {
	// respond hands over the outbox of the session's newest round, and returns once the response is
	// in the inbox.
	respond(ctx context.Context, x *turn) (response, error)
}

// response is a file in the inbox.
type response struct {
	name     string
	savedAs  string   // the name that a person has given it; "": none
	messages []string // the messages that it was put together from
}

// findSession finds the session of the turn, or begins one. It reports false if the turn is to
// resume a session and there is none.
func (x *turn) findSession() (bool, error) {
	all, err := x.files.loadSessions()
	if err != nil {
		return false, err
	}
	for _, s := range all { // the turn may be run again after a crash
		if s.Run == x.t.Envelope.RunID {
			x.s = s
			return true, nil
		}
	}
	if commandOf(x.t.Envelope.Text) == resumeCommand {
		for _, s := range all {
			if !s.Complete {
				x.s, s.Run = s, x.t.Envelope.RunID
				return true, x.save()
			}
		}
		return false, nil
	}
	x.files.prune(all)
	x.s = newSession(x.files.newID(), x.task(), x.t.Envelope.RunID)
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

// store writes the session file. With sync it survives a power failure: without, a command may be
// forgotten to have a result, but not to have begun.
func (x *turn) store(sync bool) error {
	x.s.UpdatedAt = time.Now().UTC()
	if x.changes != nil {
		x.s.Changes = x.changes.list
	}
	return x.files.saveSession(x.s, sync)
}

// run works on the session until it is complete.
func (x *turn) run(ctx context.Context, a agent) (terminal.Outcome, error) {
	x.board = board{emit: x.t.Emit}
	for round := 1; !x.s.Complete; round++ {
		if err := x.round(ctx, a, round); err != nil {
			return x.broken(ctx, err)
		}
	}
	return tell(x.t, x.finalMessage)
}

// round has the model answer, unless a response waits already, and executes the response.
func (x *turn) round(ctx context.Context, a agent, round int) error {
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
		r, err := a.respond(ctx, x)
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
	err := x.files.inbox.Rename(x.s.Response, processedName+"/"+cmp.Or(x.s.SavedAs, x.s.Response))
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
	if _, err := x.files.outbox.Lstat(name); errors.Is(err, fs.ErrNotExist) {
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
			f.binary = strings.ContainsRune(string(content), 0)
			f.content = trimPartialRune(string(content), f.cut)
			left -= len(content)
		}
		all = append(all, f)
	}
	return all
}

// roundsError says that the model did not come to an end.
type roundsError int

func (e roundsError) Error() string { return fmt.Sprintf("Stopped after %d rounds", int(e)) }

// agentError says that the agent's command has failed.
type agentError struct {
	text  string
	ended terminal.Ended
}

func (e *agentError) Error() string { return e.text }

// broken ends a turn that cannot go on. The session can be resumed.
func (x *turn) broken(ctx context.Context, err error) (terminal.Outcome, error) {
	var rounds roundsError
	var failed *agentError
	switch {
	case ctx.Err() != nil:
		return x.t.TellStopped(ctx)
	case errors.As(err, &rounds):
		return x.fail(rounds.Error(), terminal.Ended{Exit: process.Exit{Code: 1, Stderr: process.NewBounded(0, 0)}})
	case errors.As(err, &failed):
		if short := failed.ended.Shortage(); short != nil {
			return terminal.Outcome{}, short
		}
		return x.fail(failed.text, failed.ended)
	}
	return terminal.Outcome{}, err
}

// fail ends the turn with an error.
func (x *turn) fail(why string, ended terminal.Ended) (terminal.Outcome, error) {
	end := terminal.NewEnding(x.t.MaxOutput)
	end.Fail(terminal.Frame{Text: why})
	end.Note("/resume goes on with the task.")
	return end.Tell(x.t, ended)
}

// trimPartialRune drops the first bytes of a character at the end of a text that was cut.
func trimPartialRune(s string, cut bool) string {
	for i := 1; cut && i < utf8.UTFMax && i <= len(s); i++ {
		if end := s[len(s)-i:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRuneInString(end) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}
