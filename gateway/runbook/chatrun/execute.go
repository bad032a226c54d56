package chatrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/press"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// Executes reports whether a message starts or continues a run.
func (rb *Runbooks) Executes(in channels.Incoming) bool {
	if pressed, ok := press.ParseAnswer(in.Press); ok {
		return press.IsRunQuestion(pressed.Question)
	}
	_, ok := commandArgs(in)
	return ok && rb.Available()
}

// commandArgs returns the arguments of /run in a message or a press.
func commandArgs(in channels.Incoming) (args string, ok bool) {
	word, args, _ := strings.Cut(strings.TrimSpace(in.Text), " ")
	if in.Press != "" || in.Origin != channels.Person { // a text that nobody has typed is no command
		word, args = press.ParseCommand(in.Press)
	}
	return strings.TrimSpace(args), strings.EqualFold(word, "/run")
}

// execution is the execution of a run in one turn.
type execution struct {
	*Runbooks
	turn *turn.Execution
	run  runbook.Run
	// askAgain means that an open question is asked again.
	askAgain bool
	messages int // messages of the agent in the current task
}

// Execute starts or continues a run until it ends or a person has to decide.
func (rb *Runbooks) Execute(ctx context.Context, x *turn.Execution) (terminal.Outcome, error) {
	x.MarkNotRunning()
	e := &execution{Runbooks: rb, turn: x}
	found, err := e.findRun(ctx)
	if err == nil && found {
		found, err = e.isOurs(ctx)
	}
	if err != nil || !found {
		return terminal.Outcome{Status: terminal.Done}, err
	}
	return e.executeSteps(ctx)
}

// maxQueue is how many messages of a chat are searched for an answer.
const maxQueue = 1000

// isOurs reports whether no message in the queue continues the run. Otherwise this turn had asked a
// question, is repeated after a crash, and the answer has arrived meanwhile: if both messages
// continued the run, a second crash could have both execute the same step.
func (e *execution) isOurs(ctx context.Context) (bool, error) {
	queue, err := e.o.Questions.Queue(ctx, e.turn.Inbound.In.Chat, maxQueue)
	return !slices.ContainsFunc(queue, func(i store.Inbound) bool {
		pressed, _ := press.ParseAnswer(i.In.Press)
		q, ok := press.ParseRunQuestion(pressed.Question)
		return ok && q.Run == e.run.ID
	}), err
}

// findRun finds or starts the run of the message. It reports false if there is nothing to do, and
// the chat knows why.
func (e *execution) findRun(ctx context.Context) (found bool, err error) {
	in := e.turn.Inbound.In
	if pressed, ok := press.ParseAnswer(in.Press); ok {
		return e.findRunOfQuestion(ctx, pressed.Question)
	}
	args, _ := commandArgs(in)
	if word, id, _ := strings.Cut(args, " "); strings.EqualFold(word, resumeWord) {
		e.askAgain = true
		id = strings.TrimSpace(id)
		e.run, found, err = e.findResumable(ctx, in.Chat, id)
		if err == nil && !found {
			err = e.sendNote(nothingToResumeText(e.turn.Words(), id))
		}
		return found, err
	}
	// A message that is repeated after its run has ended in a turn of its own starts another run.
	e.run, found, err = e.findNewest(ctx, in.Chat,
		func(r runbook.Run) bool { return driverOf(r).Inbound == e.turn.Inbound.ID })
	d := driverOf(e.run)
	switch {
	case err != nil:
		return false, err
	case found && !d.Reported:
		return true, nil
	case !found || d.Reporter != e.attemptID() && strings.HasPrefix(d.Reporter, fmt.Sprintf("%d.", e.turn.Inbound.ID)):
		return e.beginRun(ctx, args)
	}
	return false, e.sendEnded()
}

// findRunOfQuestion finds the run of a question.
func (e *execution) findRunOfQuestion(ctx context.Context, id string) (found bool, err error) {
	q, _ := press.ParseRunQuestion(id)
	e.run, err = e.o.Runs.Load(ctx, q.Run)
	switch {
	case err != nil || runChat(e.run) != e.turn.Inbound.In.Chat:
		return false, err
	case driverOf(e.run).Reported:
		return false, e.sendEnded()
	}
	return true, nil
}

// beginRun starts a run of a runbook.
func (e *execution) beginRun(ctx context.Context, name string) (bool, error) {
	in := e.turn.Inbound.In
	book, source, err := e.o.Folder().Load(name)
	if err != nil {
		return false, e.sendNote(cannotRunText(e.turn.Words(), name, err))
	}
	e.run, _, err = e.o.Runs.Begin(ctx, runbook.Start{
		Runbook: book, Source: source, By: by(in.Chat, in.User.ID), Chat: in.Chat.String(),
		Driver: driver{Inbound: e.turn.Inbound.ID, Language: in.User.Language}.encode(),
	})
	return err == nil, err
}

// cannotRunText explains why a runbook cannot be run.
func cannotRunText(w words.Words, name string, err error) string {
	var refused *runbook.InvalidTextError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.Text(words.RunbookUnknown, terminal.OneLine(name, maxLabel))
	case errors.As(err, &refused):
		return terminal.Shorten(err.Error(), maxBody)
	}
	return w.Text(words.RunbookUnreadable, terminal.OneLine(name, maxLabel))
}

// sendNote sends a message about a run to the chat. A repeated turn does not send it again.
func (e *execution) sendNote(text string) error {
	return e.turn.Emit(terminal.Frame{Kind: terminal.Message, Text: text, Sequence: noteSequence})
}

// The sequence numbers of messages in a turn, across all attempts: those of the agent's tasks, of a
// note and of the report.
const (
	messagesPerTry, triesPerStep, maxNumberedSteps = 1000, 100, 5000
	noteSequence                                   = messagesPerTry * triesPerStep * maxNumberedSteps
	reportSequence                                 = noteSequence + 1
)

// executeSteps executes steps until the run ends or a person has to decide.
func (e *execution) executeSteps(ctx context.Context) (terminal.Outcome, error) {
	done := terminal.Outcome{Status: terminal.Done}
	var err error
	if e.run, err = e.applyAnswer(ctx, e.run); err != nil {
		return done, err
	}
	for {
		if e.run.Status != runbook.Waiting {
			if err := e.promptLastStep(ctx); err != nil {
				return done, err
			}
			return done, e.report(ctx)
		}
		if ctx.Err() != nil {
			return e.endStopped()
		}
		if err := e.showChecklist(); err != nil {
			return done, err
		}
		waits, err := e.executeStep(ctx)
		switch {
		case errors.Is(err, runbook.ErrStale), errors.Is(err, runbook.ErrEnded): // changed by somebody else
			if e.run, err = e.o.Runs.Load(ctx, e.run.ID); err != nil {
				return done, err
			}
		case ctx.Err() != nil:
			return e.endStopped()
		case err != nil || waits:
			return done, err
		}
	}
}

// promptLastStep gives the last step to the agent if it needs no proof, since the run is complete
// on entering it.
func (e *execution) promptLastStep(ctx context.Context) error {
	step, ok := e.run.CurrentStep()
	if d := driverOf(e.run); !ok || d.Finished || d.Reported || e.run.Status != runbook.Complete || !IsExecuted(e.run) {
		return nil
	}
	if err := e.showChecklist(); err != nil {
		return err
	}
	defer e.turn.MarkRunning(ctx)()
	if _, _, err := e.promptAgent(ctx, step); err != nil {
		return err
	}
	return e.applyDurably(ctx, changeDriver(func(_ runbook.Run, d *driver) error { d.Finished = true; return nil }))
}

// endStopped tells the chat that the run waits.
func (e *execution) endStopped() (terminal.Outcome, error) {
	text := e.runWords(e.run).Text(words.RunStopped, runTitle(e.run), e.run.Step)
	return terminal.Outcome{Status: terminal.Stopped},
		e.turn.Emit(terminal.Frame{Kind: terminal.Error, Code: terminal.StoppedCode, Text: text, Sequence: noteSequence})
}

// showChecklist shows the checklist on the board of the turn, above the agent's progress.
func (e *execution) showChecklist() error {
	return e.turn.ShowHeading(checklist(e.runWords(e.run), e.run, nil))
}
