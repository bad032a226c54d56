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

// proving is one call of kairos_next.
type proving struct {
	*session
	req     *mcp.CallToolRequest
	run     string // its ID
	call    runbook.Call
	decided bool // the people of the chat were asked
	alone   bool // it alone executes a command of this connection
}

// What must happen before a solution can be accepted. Nothing is stored until then.
var (
	errConfirm = errors.New("the person must confirm")
	errDecide  = errors.New("the people of the chat must approve")
	errCheck   = errors.New("the command must be executed")
)

// prove proves the present step. It asks people and executes commands where that is needed.
func (p *proving) prove(ctx context.Context) (any, error) {
	defer func() {
		if p.alone {
			<-p.checking
		}
	}()
	for {
		before, a, err := p.attempt(ctx)
		switch {
		case errors.Is(err, errConfirm):
			a, done, err := p.confirm(ctx, before)
			if err != nil || done {
				return a, err
			}
		case errors.Is(err, errDecide):
			if a, done, err := p.decide(ctx, before); err != nil || done {
				return a, err
			}
		case errors.Is(err, errCheck):
			if err := p.check(ctx, before); err != nil {
				return nil, err
			}
		case err != nil && p.decided:
			return p.declined(ctx, err)
		default:
			return a, err
		}
	}
}

// attempt proves the present step unless something else must happen first. The run is returned as
// it was before.
func (p *proving) attempt(ctx context.Context) (before runbook.Run, a runbook.Answer, err error) {
	_, err = p.o.Runs.Apply(ctx, p.run, func(r runbook.Run, env runbook.Env) (runbook.Run, error) {
		before = r
		var after runbook.Run
		after, a, err = runbook.Next(r, p.call, env)
		switch {
		case err != nil:
			return r, err
		case p.isForeignCommand(r) && a.Outcome != runbook.Repeated:
			return r, errForeignCommand
		case a.Outcome == runbook.NeedsConfirmation && canElicit(p.req):
			return r, errConfirm
		case a.Outcome == runbook.NeedsPerson:
			return r, errDecide
		case p.mustCheck(r, after):
			return r, errCheck
		}
		return after, nil
	})
	return before, a, err
}

// errForeignCommand refuses the report of a command that nanobot executes, and tells no nonce.
var errForeignCommand = &failure{
	Code:    notAllowed,
	Message: "A person began this run, so nanobot executes the commands of its steps itself. Do what the step says, and leave its proof to nanobot.",
}

// isForeignCommand reports whether the present step has a command, in a run that agents did not
// begin: who began it has it executed, and an agent cannot say how it ended.
func (p *proving) isForeignCommand(r runbook.Run) bool {
	step, ok := r.CurrentStep()
	return ok && r.By != p.by && r.Status == runbook.Waiting && step.Challenge != nil && step.Challenge.Type == runbook.Shell
}

// mustCheck reports whether a transition believes an agent that says that a command has succeeded.
func (p *proving) mustCheck(before, after runbook.Run) bool {
	if p.o.CheckShell == nil || p.call.By == runbook.ByGateway || len(after.Records) == len(before.Records) {
		return false
	}
	record, err := after.Records[len(after.Records)-1].Parse()
	return err != nil || record.Type == runbook.Shell && record.Status == runbook.Succeeded
}

// check executes the command of the present step, and makes what was seen of it the solution. A
// connection executes one command at a time, and the next one when the proof is stored, so that the
// same proof sent twice is checked once.
func (p *proving) check(ctx context.Context, before runbook.Run) error {
	ctx, cancel := p.untilEnd(ctx)
	defer cancel()
	if !p.alone {
		select {
		case p.checking <- struct{}{}:
			p.alone = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	now, err := p.load(ctx, p.run)
	if err != nil || now.Issued.Nonce != before.Issued.Nonce { // another call has proved the step meanwhile
		return err
	}
	step, _ := before.CurrentStep()
	var seen runbook.ShellProof
	err = whileWaiting(ctx, p.req, func(ctx context.Context) (err error) {
		seen, err = p.o.CheckShell(ctx, p.run, step.Challenge.Command, step.Challenge.Timeout())
		return err
	})
	if err != nil {
		return err
	}
	p.call.By = runbook.ByGateway
	return p.setField(runbook.Shell, seen)
}

// setField replaces a field of the solution.
func (p *proving) setField(name string, value any) error {
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

// decide has the people of the chat decide on the present step.
func (p *proving) decide(ctx context.Context, before runbook.Run) (any, bool, error) {
	if p.decided {
		return nil, true, stillUndecided("The people of the chat have not decided yet.")
	}
	p.decided = true
	if p.o.Decide == nil {
		return p.refuse(ctx, runbook.Refusal{Step: before.Step, NotAskedReason: "The chat's people cannot be asked here."})
	}
	waiting, cancel := p.untilEnd(ctx)
	defer cancel()
	err := whileWaiting(waiting, p.req, func(ctx context.Context) error { return p.o.Decide(ctx, p.run, before.Step) })
	switch {
	case waiting.Err() != nil:
		return nil, true, waiting.Err()
	case errors.As(err, new(*UnaskedError)):
		return p.refuse(ctx, runbook.Refusal{Step: before.Step, NotAskedReason: sentence(err)})
	case errors.As(err, new(*TooManyError)):
		return nil, true, &failure{Code: rateLimited, Message: sentence(err)}
	case err != nil: // and the question may be open
		p.log.Warn("no longer waiting for an approval", zap.String("runbook_run", p.run), zap.Error(err))
		return nil, true, stillUndecided(sentence(err))
	}
	return nil, false, nil
}

// stillUndecided is the failure of a call that ends before people have decided. The run is
// unchanged.
func stillUndecided(why string) error {
	return &failure{Code: undecided, Message: why + " Call kairos_next again to wait for their decision."}
}

// declined returns the answer of a run that ended because a person rejected its step.
func (p *proving) declined(ctx context.Context, cause error) (any, error) {
	r, err := p.load(ctx, p.run)
	if err != nil || r.Status != runbook.Declined {
		return nil, errors.Join(cause, err)
	}
	_, a := runbook.Show(r, runbook.Env{})
	failures := r.Issued.Failures
	a.Outcome, a.ErrorCode, a.Cause = runbook.Refused, runbook.UserDeclined, runbook.UserDeclined
	a.Message, a.NextAction, a.RetryCount = r.Reason, "Run ended.", &failures
	return a, nil
}

// refuse counts a question that was not answered with an approval. If the step is no longer the
// present one, the solution is tried again.
func (p *proving) refuse(ctx context.Context, why runbook.Refusal) (any, bool, error) {
	why.By = runbook.ByAgent
	_, a, err := p.o.Runs.Decline(ctx, p.run, why)
	if errors.Is(err, runbook.ErrStale) {
		return nil, false, nil
	}
	return a, true, err
}
