package chatrun

import (
	"context"
	"errors"
	"fmt"

	"nanobot/gateway/press"
	"nanobot/gateway/runbook"
)

// maxOpen limits the steps of agent-executed runs that wait for the people of a chat at the same
// time.
const maxOpen = 5

// ErrManyOpen means that too many steps wait for the people of a chat. The text is for the agent.
var ErrManyOpen = fmt.Errorf("%d questions about runs are open in this chat already; wait until one is decided, or "+
	"end a run with kairos_attest", maxOpen)

// Decide asks the people of a run's chat to approve its current step, unless that question is open,
// and waits for the decision. If ctx ends first, the question stays open. admit is called before a
// question is asked; its error is returned, as is ErrManyOpen.
func (rb *Runbooks) Decide(ctx context.Context, s Step, admit func() error) error {
	for {
		done, err := rb.awaitDecision(ctx, s, admit)
		if done || err != nil {
			return err
		}
	}
}

// Step is a step that people decide about for an agent.
type Step struct {
	Run    string
	Number int
	// Language is the language of the question, unless the run has one already.
	Language string
}

// awaitDecision asks about a step and waits for the next decision about its run. done means that
// the step was already decided.
func (rb *Runbooks) awaitDecision(ctx context.Context, s Step, admit func() error) (done bool, err error) {
	decided, leave := rb.decisions.Wait(s.Run)
	defer leave()
	r, err := rb.o.Runs.Load(ctx, s.Run)
	if err == nil {
		r, err = rb.applyAnswer(ctx, r)
	}
	if err != nil || r.Step != s.Number || r.Status != runbook.Waiting {
		return true, err
	}
	if driverOf(r).Language == "" && s.Language != "" {
		r, err = rb.updateDriver(ctx, r.ID, func(_ runbook.Run, d *driver) error { d.Language = s.Language; return nil })
	}
	if err == nil {
		err = rb.askForAgent(ctx, r, admit)
	}
	switch {
	case errors.Is(err, runbook.ErrStale): // decided since Load
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

// askForAgent asks about the current step of a run on behalf of an agent, unless that question is
// open.
func (rb *Runbooks) askForAgent(ctx context.Context, r runbook.Run, admit func() error) error {
	rb.askMu.Lock() // so that concurrent questions do not exceed maxOpen together
	defer rb.askMu.Unlock()
	return rb.askCurrentStep(ctx, r, false, func() error {
		open, err := rb.countOpen(ctx, r)
		switch {
		case err != nil:
			return err
		case open >= maxOpen:
			return ErrManyOpen
		}
		return admit()
	})
}

// countOpen counts the agent-executed runs of the chat with an open question about their current
// step.
func (rb *Runbooks) countOpen(ctx context.Context, of runbook.Run) (open int, err error) {
	questions, err := rb.o.Questions.OpenQuestions(ctx, runChat(of))
	if err != nil {
		return 0, err
	}
	for _, q := range questions {
		asked, ok := press.ParseRunQuestion(q.ID)
		if !ok || asked.Run == of.ID {
			continue
		}
		r, err := rb.o.Runs.Load(ctx, asked.Run)
		switch {
		case errors.Is(err, runbook.ErrNoRun), errors.Is(err, runbook.ErrDamaged):
		case err != nil:
			return 0, err
		case !IsExecuted(r) && r.Status == runbook.Waiting && r.Step == asked.Step:
			open++
		}
	}
	return open, nil
}
