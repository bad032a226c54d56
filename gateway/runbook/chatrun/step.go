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
	"nanobot/internal/words"
	"nanobot/terminal"
)

// executeStep brings a run forward by one proof or failure. It reports true if a person was asked
// and has to decide.
func (e *execution) executeStep(ctx context.Context) (waits bool, err error) {
	step, _ := e.run.CurrentStep()
	if needsApproval(step) || e.run.CanSkip() && !driverOf(e.run).Retry {
		return true, e.askCurrentStep(ctx, e.run, e.askAgain, func() error { return nil })
	}
	// Marked until the proof is recorded, so that after a crash the agent's work and the command
	// are not repeated silently.
	defer e.turn.MarkRunning(ctx)()
	answer, outcome, err := e.promptAgent(ctx, step)
	if err != nil || ctx.Err() != nil {
		return false, err
	}
	switch outcome.Status {
	case terminal.Failed, terminal.TimedOut, terminal.Stopped: // the last message is about the failure
		answer = ""
	case terminal.Done, terminal.Refused, terminal.Silent:
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
	return false, e.proveStep(ctx, step, answer)
}

// promptAgent lets the agent work on a step, and returns its last message and outcome. A step with
// only a command needs no agent, unless the command has failed.
func (e *execution) promptAgent(ctx context.Context, step runbook.Step) (
	answer string, outcome terminal.Outcome, err error,
) {
	onlyProof := step.Body == "" && (step.Challenge == nil || step.Challenge.Type == runbook.Shell)
	if onlyProof && e.run.Issued.Failures == 0 {
		return "", terminal.Outcome{Status: terminal.Done}, nil
	}
	shown, err := e.showChallenge(ctx, step)
	if err != nil {
		return "", outcome, err
	}
	e.messages = 0
	outcome, err = e.turn.Prompt(ctx, turn.Task{
		Name: fmt.Sprintf("%s.%d.%d", e.run.ID, step.Index, e.run.Issued.Failures), Text: promptText(e.run, shown),
		Emit: func(f terminal.Frame) error {
			if f.Kind == terminal.Message && f.Text != "" && !f.Own {
				answer = f.Text
			}
			return e.emit(f)
		},
	})
	return answer, outcome, err
}

// showChallenge returns the challenge that the agent proves itself, for mcp steps only: issuing a
// new challenge resets the failures of an expired one.
func (e *execution) showChallenge(ctx context.Context, step runbook.Step) (shown runbook.Answer, err error) {
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

// emit shows the agent's frames.
func (e *execution) emit(f terminal.Frame) error {
	if f.Kind == terminal.Message || f.Kind == terminal.Error {
		e.messages++
		try := e.run.Step%maxNumberedSteps*triesPerStep + e.run.Issued.Failures%triesPerStep
		f.Sequence = try*messagesPerTry + min(e.messages, messagesPerTry-1)
	}
	return e.turn.Emit(f)
}

// proveStep proves a step with its command, or with the agent's last message.
func (e *execution) proveStep(ctx context.Context, step runbook.Step, answer string) error {
	if step.Challenge == nil {
		return e.recordProof(ctx, runbook.Proof{Step: step.Index, By: runbook.ByAgent},
			func(words.Words) string { return "" })
	}
	p := runbook.Proof{Step: step.Index, By: runbook.ByAgent, Type: step.Challenge.Type}
	switch step.Challenge.Type {
	case runbook.Shell:
		return e.proveShell(ctx, step)
	case runbook.MCP:
		p.By, p.Value = runbook.ByGateway, runbook.MCPProof{
			Tool:   step.Challenge.Tool,
			Result: json.RawMessage(`"the agent has not proved the call"`),
		}
		return e.recordProof(ctx, p, func(w words.Words) string {
			return w.Text(words.RunToolNotCalled, terminal.CodeSpan(terminal.OneLine(step.Challenge.Tool, maxLabel)))
		})
	default:
		p.Value = runbook.CommentProof{Text: answer}
		return e.recordProof(ctx, p, func(w words.Words) string {
			if answer == "" {
				return w.Text(words.RunNoAnswer)
			}
			return w.Text(words.RunAnswerShort, formatNumber(step.Challenge.MinLength))
		})
	}
}

// proveShell proves a step by running its command.
func (e *execution) proveShell(ctx context.Context, step runbook.Step) error {
	place, err := e.turn.ExecEnv(ctx)
	if err != nil {
		return err
	}
	command := step.Challenge.Command
	if err := e.turn.Emit(terminal.Frame{
		Kind: terminal.Progress, Text: terminal.CodeSpan(terminal.OneLine(command, 200)),
	}); err != nil {
		return err
	}
	proof, err := shellstep.Run(ctx, shellstep.ExecEnv(place, e.run.ID), command, step.Challenge.Timeout())
	if err != nil { // stopped
		return nil //nolint:nilerr // the run waits
	}
	p := runbook.Proof{Step: step.Index, By: runbook.ByGateway, Type: runbook.Shell, Value: proof}
	return e.recordProof(ctx, p, func(w words.Words) string { return shellFailure(w, command, proof) })
}

// recordProof submits a proof to the run. failure returns the reason that is stored if it is
// refused.
func (e *execution) recordProof(ctx context.Context, p runbook.Proof, failure func(words.Words) string) error {
	var a runbook.Answer
	err := e.applyDurably(ctx, func(r runbook.Run, env runbook.Env) (runbook.Run, error) {
		after, answer, err := runbook.Prove(r, p, env)
		if err != nil {
			return r, err
		}
		d := driverOf(after)
		d.Failure, d.FailureShown, d.Retry = "", "", false
		if answer.Outcome != runbook.Advanced {
			d.Failure, d.FailureShown = failure(words.Words{}), failure(e.runWords(r))
		}
		after.Driver, a = d.encode(), answer
		return after, nil
	})
	if err == nil && a.Outcome != runbook.Advanced {
		e.o.Log.Info("step not proved", runFields(e.run)...)
	}
	return err
}

// applyDurably applies a transition that must not be lost, because a command or an agent has run
// for it: it ignores the end of ctx, and while the disk is full it retries until ctx ends.
func (e *execution) applyDurably(ctx context.Context,
	transition func(runbook.Run, runbook.Env) (runbook.Run, error),
) error {
	var refused error // any other error
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
	}, func(err error) {
		e.o.Log.Error("run not stored, will retry", append(runFields(e.run), zap.Error(err))...)
	})
	if err != nil {
		return err
	}
	return refused
}
