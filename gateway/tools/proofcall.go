package tools

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"nanobot/gateway/runbook"
)

// proofCall is one call of kairos_next.
type proofCall struct {
	*session
	req            *mcp.CallToolRequest
	run            string // ID of the run
	call           runbook.Call
	askedPeople    bool // the people of the chat were asked
	hasCommandSlot bool // holds the command slot of the connection
}

// What must happen before a solution can be accepted. Nothing is stored until then.
var (
	errNeedsConfirmation = errors.New("the person must confirm")
	errNeedsApproval     = errors.New("the people of the chat must approve")
	errNeedsCommand      = errors.New("the command must be executed")
)

// prove proves the current step, and asks people and runs commands where necessary.
func (p *proofCall) prove(ctx context.Context) (any, error) {
	defer func() {
		if p.hasCommandSlot {
			<-p.commandSlot
		}
	}()
	for {
		before, a, err := p.attempt(ctx)
		switch {
		case errors.Is(err, errNeedsConfirmation):
			a, done, err := p.confirmByForm(ctx, before)
			if err != nil || done {
				return a, err
			}
		case errors.Is(err, errNeedsApproval):
			if a, done, err := p.askPeople(ctx, before); err != nil || done {
				return a, err
			}
		case errors.Is(err, errNeedsCommand):
			if a, done, err := p.checkCommand(ctx, before); err != nil || done {
				return a, err
			}
		case err != nil && p.askedPeople:
			return p.declinedAnswer(ctx, err)
		default:
			return a, err
		}
	}
}

// attempt proves the current step, unless something else must happen first. It returns the run as
// it was before.
func (p *proofCall) attempt(ctx context.Context) (before runbook.Run, a runbook.Answer, err error) {
	_, err = p.options.Runs.Apply(ctx, p.run, func(r runbook.Run, env runbook.Env) (runbook.Run, error) {
		before = r
		var after runbook.Run
		after, a, err = runbook.Next(r, p.call, env)
		switch {
		case err != nil:
			return r, err
		case p.isPersonsCommand(r) && a.Outcome != runbook.Repeated:
			return r, errPersonsCommand
		case a.Outcome == runbook.NeedsConfirmation && canElicit(p.req):
			return r, errNeedsConfirmation
		case a.Outcome == runbook.NeedsPerson:
			return r, errNeedsApproval
		case p.mustRunCommand(r, after):
			return r, errNeedsCommand
		}
		return after, nil
	})
	return before, a, err
}

// errPersonsCommand refuses the report of a command that nanobot runs, and reveals no nonce.
var errPersonsCommand = &failure{
	Code: notAllowed,
	Message: "A person began this run, so nanobot executes the commands of its steps itself. Do what the step says, and " +
		"leave its proof to nanobot.",
}

// isPersonsCommand reports whether the current step has a command in a run that a person started.
// The gateway runs that command, and an agent cannot report its result.
func (p *proofCall) isPersonsCommand(r runbook.Run) bool {
	step, ok := r.CurrentStep()
	return ok && r.By != p.by && r.Status == runbook.Waiting && step.Challenge != nil &&
		step.Challenge.Type == runbook.Shell
}

// mustRunCommand reports whether a transition relies on an agent's report that a command has
// succeeded.
func (p *proofCall) mustRunCommand(before, after runbook.Run) bool {
	if p.options.CheckShell == nil || p.call.By == runbook.ByGateway || len(after.Records) == len(before.Records) {
		return false
	}
	record, err := after.Records[len(after.Records)-1].Parse()
	return err != nil || record.Type == runbook.Shell && record.Status == runbook.Succeeded
}

// checkCommand runs the command of the current step and makes the observed result the solution. A
// connection runs one command at a time, and the next one after the proof is stored, so that a
// proof that is sent twice runs its command once. done means that a person did not permit the
// command.
func (p *proofCall) checkCommand(ctx context.Context, before runbook.Run) (a any, done bool, err error) {
	waiting, cancel := p.untilInputEnds(ctx)
	defer cancel()
	if !p.hasCommandSlot {
		select {
		case p.commandSlot <- struct{}{}:
			p.hasCommandSlot = true
		case <-waiting.Done():
			return nil, true, waiting.Err()
		}
	}
	now, err := p.loadRun(waiting, p.run)
	if err != nil || now.Issued.Nonce != before.Issued.Nonce { // another call has proved the step meanwhile
		return nil, err != nil, err
	}
	step, _ := before.CurrentStep()
	err = p.permitCommand(waiting, before, step.Challenge.Command)
	switch {
	case waiting.Err() != nil:
		return nil, true, waiting.Err()
	case errors.Is(err, ErrDeclined):
		return p.countRefusal(ctx, runbook.Refusal{Step: before.Step})
	case errors.As(err, new(*NotAskedError)):
		return p.countRefusal(ctx, runbook.Refusal{Step: before.Step, NotAskedReason: toSentence(err)})
	case errors.As(err, new(*RateLimitError)):
		return nil, true, &failure{Code: rateLimited, Message: toSentence(err)}
	case err != nil:
		return nil, true, err
	}
	return nil, false, p.runCommand(waiting, step.Challenge)
}

var errNobodyPermits = errors.New("an agent has written this runbook, so a person must permit its commands " +
	"before nanobot runs them, and nobody can be asked here")

// permitCommand asks a person about a command that only an agent has written: nanobot would run it
// for the agent, whatever the agent itself is permitted.
func (p *proofCall) permitCommand(ctx context.Context, r runbook.Run, command string) error {
	vouched, err := p.options.Runs.IsVouchedFor(ctx, r)
	switch {
	case err != nil || vouched:
		return err
	case p.options.PermitCommand == nil:
		return &NotAskedError{errNobodyPermits}
	}
	return withProgress(ctx, p.req, func(ctx context.Context) error {
		return p.options.PermitCommand(ctx, r.Runbook().Label, command)
	})
}

// runCommand runs a command and makes the observed result the solution.
func (p *proofCall) runCommand(ctx context.Context, d *runbook.Definition) error {
	var seen runbook.ShellProof
	err := withProgress(ctx, p.req, func(ctx context.Context) (err error) {
		seen, err = p.options.CheckShell(ctx, p.run, d.Command, d.Timeout())
		return err
	})
	if err != nil {
		return err
	}
	p.call.By = runbook.ByGateway
	return p.setField(runbook.Shell, seen)
}

// setField replaces a field of the solution.
func (p *proofCall) setField(name string, value any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(p.call.Solution, &fields); err != nil {
		return err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	fields = maps.Clone(fields)
	fields[name] = raw
	p.call.Solution, err = json.Marshal(fields)
	return err
}

// askPeople asks the people of the chat about the current step and waits for their decision.
func (p *proofCall) askPeople(ctx context.Context, before runbook.Run) (any, bool, error) {
	if p.askedPeople {
		return nil, true, undecidedFailure("The people of the chat have not decided yet.")
	}
	p.askedPeople = true
	if p.options.Decide == nil {
		return p.countRefusal(ctx, runbook.Refusal{
			Step:           before.Step,
			NotAskedReason: "The chat's people cannot be asked here.",
		})
	}
	waiting, cancel := p.untilInputEnds(ctx)
	defer cancel()
	err := withProgress(waiting, p.req, func(ctx context.Context) error {
		return p.options.Decide(ctx, p.run,
			before.Step)
	})
	switch {
	case waiting.Err() != nil:
		return nil, true, waiting.Err()
	case errors.As(err, new(*NotAskedError)):
		return p.countRefusal(ctx, runbook.Refusal{Step: before.Step, NotAskedReason: toSentence(err)})
	case errors.As(err, new(*RateLimitError)):
		return nil, true, &failure{Code: rateLimited, Message: toSentence(err)}
	case err != nil: // the question may still be open
		p.log.Warn("no longer waiting for an approval", zap.String("runbook_run", p.run), zap.Error(err))
		return nil, true, undecidedFailure(toSentence(err))
	}
	return nil, false, nil
}

// undecidedFailure is the failure of a call that ends before people have decided. The run is
// unchanged.
func undecidedFailure(why string) error {
	return &failure{Code: undecided, Message: why + " Call kairos_next again to wait for their decision."}
}

// declinedAnswer returns the answer of a run that ended because a person rejected its step.
func (p *proofCall) declinedAnswer(ctx context.Context, cause error) (any, error) {
	r, err := p.loadRun(ctx, p.run)
	if err != nil || r.Status != runbook.Declined {
		return nil, errors.Join(cause, err)
	}
	_, a := runbook.Show(r, runbook.Env{})
	failures := r.Issued.Failures
	a.Outcome, a.ErrorCode, a.Cause = runbook.Refused, runbook.UserDeclined, runbook.UserDeclined
	a.Message, a.NextAction, a.RetryCount = r.Reason, "Run ended.", &failures
	return a, nil
}

// countRefusal counts a question that was not answered with an approval. If the step is no longer
// the current one, the solution is tried again.
func (p *proofCall) countRefusal(ctx context.Context, why runbook.Refusal) (any, bool, error) {
	why.By = runbook.ByAgent
	_, a, err := runbook.Transition(ctx, p.options.Runs, p.run, runbook.Decline, why)
	if errors.Is(err, runbook.ErrStale) {
		return nil, false, nil
	}
	return a, true, err
}
