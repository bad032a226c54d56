package chatrun

import (
	"context"
	"errors"
	"fmt"

	"nanobot/gateway/runbook"
)

// mostOpen is how many steps of the runs that agents execute may wait for the people of a chat at
// the same time.
const mostOpen = 5

// ErrManyOpen is that too many steps wait for the people of a chat. The text is for the agent.
var ErrManyOpen = fmt.Errorf("%d questions about runs are open in this chat already; wait until one is decided, or end a run with kairos_attest", mostOpen)

// Decide asks the people of a run's chat to approve its present step, unless they are asked
// already, and waits until they have decided. If ctx ends before, the question stays open. admit is
// called before a question is put; its error is returned, and so is ErrManyOpen.
func (b *Runbooks) Decide(ctx context.Context, run string, step int, admit func() error) error {
	for {
		done, err := b.awaitDecision(ctx, decidable{run, step}, admit)
		if done || err != nil {
			return err
		}
	}
}

// decidable is a step that people decide on.
type decidable struct {
	run  string
	step int
}

// awaitDecision asks about a step of a run and waits for the next decision about the run. It
// reports true if the step was decided before.
func (b *Runbooks) awaitDecision(ctx context.Context, s decidable, admit func() error) (done bool, err error) {
	decided, leave := b.changes.next(s.run)
	defer leave()
	r, err := b.o.Runs.Load(ctx, s.run)
	if err != nil || r.Step != s.step || r.Status != runbook.Waiting {
		return true, err
	}
	err = b.askForAgent(ctx, r, admit)
	switch {
	case errors.Is(err, runbook.ErrStale): // decided meanwhile
		return false, nil
	case err != nil:
		return false, err
	}
	select {
	case <-decided:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// askForAgent asks about the present step of a run for an agent that waits for it, unless that
// question is open.
func (b *Runbooks) askForAgent(ctx context.Context, r runbook.Run, admit func() error) error {
	b.asking.Lock() // so that questions which are counted at the same time are not too many together
	defer b.asking.Unlock()
	_, needed, err := b.openQuestion(ctx, r, false)
	if err != nil || !needed {
		return err
	}
	open, err := b.countOpen(ctx, r)
	if err != nil {
		return err
	}
	if open >= mostOpen {
		return ErrManyOpen
	}
	if err := admit(); err != nil {
		return err
	}
	return b.ask(ctx, r, false)
}

// countOpen counts the runs of a run's chat that agents execute and whose present step people were
// asked about.
func (b *Runbooks) countOpen(ctx context.Context, of runbook.Run) (open int, err error) {
	questions, err := b.o.Questions.OpenQuestions(ctx, chatOf(of))
	if err != nil {
		return 0, err
	}
	for _, q := range questions {
		run, step, ok := parseQuestion(q.ID)
		if !ok || run == of.ID {
			continue
		}
		r, err := b.o.Runs.Load(ctx, run)
		switch {
		case errors.Is(err, runbook.ErrNoRun), errors.Is(err, runbook.ErrDamaged):
		case err != nil:
			return 0, err
		case !IsExecuted(r) && r.Status == runbook.Waiting && r.Step == step:
			open++
		}
	}
	return open, nil
}
