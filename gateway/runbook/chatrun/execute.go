package chatrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/runbook"
	"nanobot/gateway/turn"
	"nanobot/terminal"
)

// Executes reports whether a message begins a run or goes on with one.
func (b *Runbooks) Executes(in channels.Incoming) bool {
	if id, ok := strings.CutPrefix(in.Press, outbox.AnswerPress); ok {
		return b.IsQuestion(id)
	}
	_, ok := commandArgs(in)
	return ok && b.Available()
}

// commandArgs returns what follows /run in a message or a press.
func commandArgs(in channels.Incoming) (args string, ok bool) {
	text := in.Text
	if in.Press != "" {
		text = in.Press
	}
	word, args, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strings.TrimSpace(args), strings.EqualFold(word, "/run")
}

// execution is the execution of a run in one turn.
type execution struct {
	*Runbooks
	x   *turn.Execution
	run runbook.Run
	// again says that an open question is to be asked again.
	again bool
	said  int // messages of the agent in the present task
}

// Execute begins a run or goes on with one, until it ends or a person has to decide.
func (b *Runbooks) Execute(ctx context.Context, x *turn.Execution) (terminal.Outcome, error) {
	x.MarkNotRunning()
	e := &execution{Runbooks: b, x: x}
	found, err := e.find(ctx)
	if err != nil || !found {
		return terminal.Outcome{Status: terminal.Done}, err
	}
	return e.drive(ctx)
}

// find finds the run that the message is about, or begins one. It reports false if there is nothing
// to do, and the chat knows why.
func (e *execution) find(ctx context.Context) (found bool, err error) {
	in := e.x.Inbound.In
	if data, ok := strings.CutPrefix(in.Press, outbox.AnswerPress); ok {
		return e.findAsked(ctx, data)
	}
	args, _ := commandArgs(in)
	if word, id, _ := strings.Cut(args, " "); strings.EqualFold(word, resumeWord) {
		e.again = true
		e.run, found, err = e.resumable(ctx, in.Chat, strings.TrimSpace(id))
		if err == nil && !found {
			err = e.tell(nothingToResume)
		}
		return found, err
	}
	// A message that is worked on again once its run has ended in a turn of its own begins another.
	e.run, found, err = e.newest(ctx, in.Chat, func(r runbook.Run) bool { return driverOf(r).Inbound == e.x.Inbound.ID })
	d := driverOf(e.run)
	switch {
	case err != nil:
		return false, err
	case found && !d.Reported:
		return true, nil
	case !found || d.Reporter != e.attempt() && strings.HasPrefix(d.Reporter, fmt.Sprintf("%d.", e.x.Inbound.ID)):
		return e.begin(ctx, args)
	}
	return false, e.tellEnded()
}

// findAsked finds the run that a question is about, by what its buttons carry.
func (e *execution) findAsked(ctx context.Context, data string) (found bool, err error) {
	id, _, _ := strings.Cut(data, ":")
	run, _, _ := parseQuestion(id)
	e.run, err = e.o.Runs.Load(ctx, run)
	switch {
	case err != nil || chatOf(e.run) != e.x.Inbound.In.Chat:
		return false, err
	case driverOf(e.run).Reported:
		return false, e.tellEnded()
	}
	return true, nil
}

// begin begins a run of a runbook.
func (e *execution) begin(ctx context.Context, name string) (bool, error) {
	in := e.x.Inbound.In
	book, source, err := e.o.Folder().Load(name)
	if err != nil {
		return false, e.tell(cannotRun(name, err))
	}
	id := e.o.Runs.NewID()
	if err := e.addListed(ctx, in.Chat, id); err != nil {
		return false, err
	}
	e.run, _, err = e.o.Runs.Begin(ctx, runbook.Start{
		Runbook: book, Source: source, By: in.Chat.Channel + ":" + in.User.ID, Chat: in.Chat.String(), ID: id,
		Driver: driver{Inbound: e.x.Inbound.ID}.encode(),
	})
	return err == nil, err
}

// cannotRun tells why a runbook cannot be run.
func cannotRun(name string, err error) string {
	var refused *runbook.InvalidTextError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("There is no runbook %q. /runbooks lists them.", terminal.OneLine(name, longestLabel))
	case errors.As(err, &refused):
		return terminal.Shorten(err.Error(), longestBody)
	}
	return fmt.Sprintf("The runbook %q cannot be read. /runbooks lists them.", terminal.OneLine(name, longestLabel))
}

// tell says something about a run in the chat. It is not said again when the turn is.
func (e *execution) tell(text string) error {
	return e.x.Emit(terminal.Frame{Kind: terminal.Message, Text: text, Sequence: noteSequence})
}

// The numbers of messages in a turn, over all its attempts: those of the agent's tasks, of a note
// and of the report.
const (
	perTry, perStep, mostNumbered = 1000, 100, 5000
	noteSequence                  = perTry * perStep * mostNumbered
	reportSequence                = noteSequence + 1
)

// drive executes steps until the run ends or a person has to decide.
func (e *execution) drive(ctx context.Context) (terminal.Outcome, error) {
	done := terminal.Outcome{Status: terminal.Done}
	if err := e.takeUp(ctx); err != nil {
		return done, err
	}
	for {
		if e.run.Status != runbook.Waiting {
			if err := e.finish(ctx); err != nil {
				return done, err
			}
			return done, e.report(ctx)
		}
		if ctx.Err() != nil {
			return e.stopped()
		}
		if err := e.showBoard(terminal.Frame{}); err != nil {
			return done, err
		}
		waits, err := e.advance(ctx)
		switch {
		case errors.Is(err, runbook.ErrStale), errors.Is(err, runbook.ErrEnded): // somebody else was first
			if e.run, err = e.o.Runs.Load(ctx, e.run.ID); err != nil {
				return done, err
			}
		case ctx.Err() != nil:
			return e.stopped()
		case err != nil || waits:
			return done, err
		}
	}
}

// takeUp records that a turn goes on with the run.
func (e *execution) takeUp(ctx context.Context) (err error) {
	e.run, err = e.update(ctx, e.run.ID, func(_ runbook.Run, d *driver) error {
		d.Decided, d.Message = "", ""
		return nil
	})
	return err
}

// finish gives the last step to the agent if that asks for no proof: the run is complete before.
func (e *execution) finish(ctx context.Context) error {
	step, ok := e.run.CurrentStep()
	if d := driverOf(e.run); !ok || d.Finished || d.Reported || e.run.Status != runbook.Complete || !IsExecuted(e.run) {
		return nil
	}
	if err := e.showBoard(terminal.Frame{}); err != nil {
		return err
	}
	defer e.x.MarkRunning(ctx)()
	if _, _, err := e.prompt(ctx, step); err != nil {
		return err
	}
	return e.store(ctx, changeDriver(func(_ runbook.Run, d *driver) error { d.Finished = true; return nil }))
}

// stopped tells the chat that the run waits.
func (e *execution) stopped() (terminal.Outcome, error) {
	text := fmt.Sprintf("Stopped. The run of %q waits at step %d. To go on, send /run resume", title(e.run), e.run.Step)
	return terminal.Outcome{Status: terminal.Stopped}, e.x.Emit(terminal.Frame{Kind: terminal.Error, Code: "STOPPED", Text: text, Sequence: noteSequence})
}

// showBoard shows the checklist as the board of the turn, above what the agent shows as progress,
// by a frame or by a tool.
func (e *execution) showBoard(f terminal.Frame) error {
	text := checklist(e.run)
	e.x.SetProgressHeading(text)
	if f.Text != "" {
		text += "\n\n" + f.Text
	}
	f.Kind, f.Board, f.Text = terminal.Progress, true, text
	return e.x.Emit(f)
}
