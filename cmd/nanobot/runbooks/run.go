package runbooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"nanobot/gateway/runbook"
)

// Shell executes the command of a step. It returns an error only if ctx has ended; then there is no
// proof.
type Shell func(ctx context.Context, command string, timeout time.Duration) (runbook.ShellProof, error)

// Driver executes runs: it runs the commands of shell steps and asks one person the questions.
type Driver struct {
	Runs    runbook.Runs
	Shell   Shell
	Answers *Answers
	Out     io.Writer
	JSON    bool   // print one JSON object per line
	By      string // the person, as channel:ID
	// Resumed means that another process has executed the run before. A run that waits at a command
	// was then interrupted at it: the command may have taken effect.
	Resumed bool
}

// errWaiting reports that the run cannot continue now: there is no answer, or another person must
// answer.
var errWaiting = errors.New("the run waits")

// Drive executes a run until it ends or must wait, and returns its new state. Cancelling ctx kills
// a running command and leaves the run waiting.
func (d *Driver) Drive(ctx context.Context, r runbook.Run) (runbook.Run, error) {
	if err := d.printBegin(r); err != nil {
		return r, err
	}
	shown := 0
	for {
		if step, ok := r.CurrentStep(); ok && step.Index != shown &&
			(r.Status == runbook.Waiting || r.Status == runbook.Complete) {
			shown = step.Index
			if err := d.printStep(r, step); err != nil {
				return r, err
			}
		}
		if r.Status != runbook.Waiting || ctx.Err() != nil {
			return r, d.printEnd(r)
		}
		next, err := d.advance(ctx, r)
		switch {
		case errors.Is(err, errWaiting):
			return r, d.printEnd(r)
		case errors.Is(err, runbook.ErrStale), errors.Is(err, runbook.ErrEnded):
			// Another process has changed the run.
			if next, err = d.Runs.Load(context.WithoutCancel(ctx), r.ID); err != nil {
				return r, err
			}
		case err != nil:
			return r, err
		}
		r = next
	}
}

// advance makes one proof, failure or decision in a run. It tries a failed step again, or a command
// that was interrupted, only if the person says so.
func (d *Driver) advance(ctx context.Context, r runbook.Run) (runbook.Run, error) {
	step, _ := r.CurrentStep()
	interrupted := d.Resumed && step.Challenge != nil && step.Challenge.Type == runbook.Shell
	d.Resumed = false
	if interrupted || r.Issued.Failures > 0 {
		next, retry, err := d.decide(ctx, r, failureQuestion(r))
		if err != nil || !retry {
			return next, err
		}
	}
	if step.Challenge == nil {
		return d.submitProof(ctx, r, runbook.Proof{})
	}
	switch step.Challenge.Type {
	case runbook.Shell:
		proof, err := d.Shell(ctx, step.Challenge.Command, step.Challenge.Timeout())
		if err != nil {
			return r, errWaiting
		}
		if err := d.printCommand(r, proof); err != nil {
			return r, err
		}
		return d.submitProof(ctx, r, runbook.Proof{By: runbook.ByGateway, Type: runbook.Shell, Value: proof})
	case runbook.MCP:
		reason := json.RawMessage(`"no agent calls tools here"`)
		return d.submitProof(ctx, r, runbook.Proof{
			By: runbook.ByGateway, Type: runbook.MCP,
			Value: runbook.MCPProof{Tool: step.Challenge.Tool, Result: reason},
		})
	case runbook.UserInput:
		next, _, err := d.decide(ctx, r, Question{Text: step.Challenge.Prompt, Answers: []string{"approve", "reject"}})
		return next, err
	default:
		next, _, err := d.decide(ctx, r, Question{
			Text: fmt.Sprintf("Write a comment of at least %g characters, on one line.", step.Challenge.MinLength),
		})
		return next, err
	}
}

// submitProof submits a proof of the current step. The proof is stored even if ctx has ended
// meanwhile.
func (d *Driver) submitProof(ctx context.Context, r runbook.Run, p runbook.Proof) (runbook.Run, error) {
	p.Step = r.Step
	next, answer, err := runbook.Transition(context.WithoutCancel(ctx), d.Runs, r.ID, runbook.Prove, p)
	if err != nil {
		return r, err
	}
	return next, d.printOutcome(r.Step, next, answer)
}

// printOutcome prints the result of a step.
func (d *Driver) printOutcome(step int, r runbook.Run, a runbook.Answer) error {
	if a.Outcome != runbook.Advanced {
		return d.printFailure(r, step, a)
	}
	if a.ProofHash == "" { // the step needs no proof
		return nil
	}
	record, err := r.Records[len(r.Records)-1].Parse()
	if err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	e := event{
		Kind: "proof", Step: record.Step, Label: record.Label, By: record.By, ProofHash: a.ProofHash,
		Status: record.Status, Message: record.Reason,
	}
	return d.print(r, e, "Recorded: %s, %s\n", record.Status, a.ProofHash)
}

// failureQuestion asks what to do about a step that has failed or was interrupted.
func failureQuestion(r runbook.Run) Question {
	q := Question{Text: "The step has failed.", Answers: []string{"retry", "abort"}}
	if r.Issued.Failures == 0 {
		q.Text = "The command may have run before the run was interrupted. Run it again?"
	}
	if r.CanSkip() {
		q.Answers = append(q.Answers, skipForm)
	}
	return q
}

// decide asks the person about the current step, and changes the run as they decide. retry means
// that the caller must try the step again.
func (d *Driver) decide(ctx context.Context, r runbook.Run, q Question) (next runbook.Run, retry bool, err error) {
	answer, err := d.askUntilValid(ctx, r, q)
	if err != nil {
		return r, false, err
	}
	decision := runbook.Decision{Step: r.Step, By: d.By, Verb: runbook.ToComment, Text: answer}
	if q.Answers != nil {
		verb, reason, _ := strings.Cut(answer, " ")
		decision.Verb, decision.Text = runbook.Verb(verb), reason
	}
	next, a, err := runbook.Transition(context.WithoutCancel(ctx), d.Runs, r.ID, runbook.Decide, decision)
	switch {
	case err != nil:
		return r, false, err
	case decision.Verb == runbook.ToRetry, decision.Verb == runbook.ToAbort:
		return next, decision.Verb == runbook.ToRetry, nil
	case a.Outcome == runbook.NeedsApproval:
		note := a.Message + " Another user must approve, too."
		return next, false,
			errors.Join(errWaiting, d.print(next, event{Kind: "note", Step: next.Step, Message: note}, "%s\n", note))
	}
	return next, false, d.printOutcome(r.Step, next, a)
}

// askUntilValid asks a question until the answer is valid.
func (d *Driver) askUntilValid(ctx context.Context, r runbook.Run, q Question) (string, error) {
	for {
		if err := d.printQuestion(r, q); err != nil {
			return "", err
		}
		answer, err := d.Answers.Next(ctx)
		if err != nil {
			return "", err
		}
		if given, ok := q.parseAnswer(answer); ok {
			return given, nil
		}
	}
}
