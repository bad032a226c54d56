package chatrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"nanobot/gateway/retry"
	"nanobot/gateway/runbook"
	"nanobot/gateway/runbook/shellstep"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/terminal"
)

// advance brings a run on by one proof or failure. It reports true if a person has to decide, who
// was asked.
func (e *execution) advance(ctx context.Context) (waits bool, err error) {
	step, _ := e.run.CurrentStep()
	if isGate(step) || e.run.CanSkip() && !driverOf(e.run).Retry {
		return true, e.ask(ctx, e.run, e.again)
	}
	// Until the proof is recorded: after a crash in between, the agent's work and the command are
	// not repeated without a word.
	defer e.x.MarkRunning(ctx)()
	answer, outcome, err := e.prompt(ctx, step)
	if err != nil || ctx.Err() != nil {
		return false, err
	}
	if outcome.Status != terminal.Done { // what was said about that is not the agent's answer
		answer = ""
	}
	// The agent may have proved the step with kairos_next.
	r, err := e.o.Runs.Load(ctx, e.run.ID)
	if err != nil {
		return false, err
	}
	if r.Step != e.run.Step || r.Status != runbook.Waiting {
		e.run = r
		return false, nil
	}
	return false, e.prove(ctx, step, answer)
}

// prompt has the agent work on a step, and returns its last message and how it ended. A step that
// has only a command needs no agent, unless the command has failed.
func (e *execution) prompt(ctx context.Context, step runbook.Step) (answer string, outcome terminal.Outcome, err error) {
	onlyProof := step.Body == "" && (step.Challenge == nil || step.Challenge.Type == runbook.Shell)
	if onlyProof && e.run.Issued.Failures == 0 {
		return "", terminal.Outcome{Status: terminal.Done}, nil
	}
	shown, err := e.challenge(ctx, step)
	if err != nil {
		return "", outcome, err
	}
	e.said = 0
	outcome, err = e.x.Prompt(ctx, turn.Task{
		Name: fmt.Sprintf("%s.%d.%d", e.run.ID, step.Index, e.run.Issued.Failures), Text: promptText(e.run, shown),
		Emit: func(f terminal.Frame) error {
			if f.Kind == terminal.Message && f.Text != "" && f.Text != terminal.NoOutput {
				answer = f.Text
			}
			return e.emit(f)
		},
	})
	return answer, outcome, err
}

// challenge returns what the agent needs to prove a step itself. That is for mcp steps only: a new
// challenge forgets the failures of one that has expired.
func (e *execution) challenge(ctx context.Context, step runbook.Step) (shown runbook.Answer, err error) {
	if step.Challenge == nil || step.Challenge.Type != runbook.MCP {
		return shown, nil
	}
	e.run, err = e.o.Runs.Apply(ctx, e.run.ID, func(r runbook.Run, env runbook.Env) (runbook.Run, error) {
		if r.Step != step.Index {
			return r, runbook.ErrStale
		}
		r, shown = runbook.Show(r, env)
		return r, nil
	})
	return shown, err
}

// emit shows what the agent says. Its progress is shown below the checklist.
func (e *execution) emit(f terminal.Frame) error {
	switch f.Kind {
	case terminal.Progress:
		return e.showBoard(f)
	case terminal.Message, terminal.Error:
		e.said++
		try := e.run.Step%mostNumbered*perStep + e.run.Issued.Failures%perStep
		f.Sequence = try*perTry + min(e.said, perTry-1)
	case terminal.Partial, terminal.Log:
	}
	return e.x.Emit(f)
}

// prove proves a step: with its command, or with the last message of the agent.
func (e *execution) prove(ctx context.Context, step runbook.Step, answer string) error {
	if step.Challenge == nil {
		return e.record(ctx, runbook.Proof{Step: step.Index, By: runbook.ByAgent}, "")
	}
	p := runbook.Proof{Step: step.Index, By: runbook.ByAgent, Type: step.Challenge.Type}
	switch step.Challenge.Type {
	case runbook.Shell:
		return e.proveShell(ctx, step)
	case runbook.MCP:
		p.By, p.Value = runbook.ByGateway, runbook.MCPProof{Tool: step.Challenge.Tool, Result: json.RawMessage(`"the agent has not proved the call"`)}
		return e.record(ctx, p, "The agent has not proved with kairos_next that it called the tool "+terminal.CodeSpan(terminal.OneLine(step.Challenge.Tool, longestLabel))+".")
	default:
		p.Value = runbook.CommentProof{Text: answer}
		failure := fmt.Sprintf("The agent's answer must have at least %g characters.", step.Challenge.MinLength)
		if answer == "" {
			failure = "The agent has not answered, or has failed."
		}
		return e.record(ctx, p, failure)
	}
}

// proveShell runs the command of a step.
func (e *execution) proveShell(ctx context.Context, step runbook.Step) error {
	place, err := e.x.ExecEnv()
	if err != nil {
		return err
	}
	command := step.Challenge.Command
	if err := e.showBoard(terminal.Frame{Text: terminal.CodeSpan(terminal.OneLine(command, 200))}); err != nil {
		return err
	}
	proof, err := shellstep.Run(ctx, shellstep.ExecEnv(place, e.run.ID), command, step.Challenge.Timeout())
	if err != nil { // told to stop
		return nil //nolint:nilerr // the run waits
	}
	p := runbook.Proof{Step: step.Index, By: runbook.ByGateway, Type: runbook.Shell, Value: proof}
	return e.record(ctx, p, shellFailure(command, proof))
}

// record has the run judge a proof. If it is refused, failure is why.
func (e *execution) record(ctx context.Context, p runbook.Proof, failure string) error {
	var a runbook.Answer
	err := e.store(ctx, func(r runbook.Run, env runbook.Env) (runbook.Run, error) {
		after, answer, err := runbook.Prove(r, p, env)
		if err != nil {
			return r, err
		}
		d := driverOf(after)
		d.Failure, d.Retry = "", false
		if answer.Outcome != runbook.Advanced {
			d.Failure = failure
		}
		after.Driver, a = d.encode(), answer
		return after, nil
	})
	if err == nil && a.Outcome != runbook.Advanced {
		e.o.Log.Info("step not proved", sayRun(e.run)...)
	}
	return err
}

// store changes the run by a transition that must not be lost, because a command was executed or an
// agent has worked for it: not by the end of ctx, and while the disk is full it is tried again
// until then.
func (e *execution) store(ctx context.Context, transition func(runbook.Run, runbook.Env) (runbook.Run, error)) error {
	var refused error // for another reason
	err := retry.Until(ctx, func() error {
		r, err := e.o.Runs.Apply(context.WithoutCancel(ctx), e.run.ID, transition)
		switch {
		case errors.Is(err, store.ErrFull):
			return err
		case err == nil:
			e.run = r
		}
		refused = err
		return nil
	}, func(err error) { e.o.Log.Error("run not stored, will retry", append(sayRun(e.run), zap.Error(err))...) })
	if err != nil {
		return err
	}
	return refused
}
