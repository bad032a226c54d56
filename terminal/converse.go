package terminal

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
)

// LineFunc gets one line of output. An error from it kills the agent and is returned from the turn.
type LineFunc func(line []byte, end *FinalResponse) error

// StartFunc is called when the agent runs and before its output is read. ctx ends with the output,
// and so does what stdin takes: a write waits while the agent does not read and fails when it is
// gone. wait is called once the agent is reaped, and returns when everything that begin and take
// have started is over.
type StartFunc func(ctx context.Context, stdin io.Writer) (take LineFunc, wait func(AgentExit))

// ReadLines is a turn for protocols whose agent is started once, is told the envelope and speaks in
// lines: it launches the agent, hands each line of output to take, and tells the ending.
func (t Turn) ReadLines(ctx context.Context, take LineFunc) (Outcome, error) {
	return t.converse(ctx, false, func(context.Context, io.Writer) (LineFunc, func(AgentExit)) {
		return take, func(AgentExit) {}
	})
}

// ReadLinesInteractive is ReadLines for protocols that go on talking to the agent while it runs.
func (t Turn) ReadLinesInteractive(ctx context.Context, begin StartFunc) (Outcome, error) {
	return t.converse(ctx, true, begin)
}

func (t Turn) converse(ctx context.Context, keep bool, begin StartFunc) (Outcome, error) {
	first, err := t.input()
	if err != nil {
		return Outcome{}, err
	}
	// A question that ends with the turn is answered only after the agent was signalled.
	signalled, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	agent, err := t.Launch(ctx, Input{First: first, KeepOpen: keep, onStop: cancel, onEmpty: t.OnEmpty})
	if err != nil {
		return Outcome{}, err
	}
	take, wait := begin(signalled, agent)
	finish := sync.OnceValue(func() AgentExit {
		cancel(nil)
		// An agent that says no more may still read to the end of its input before it exits.
		agent.CloseInput()
		ended := agent.Wait() // frees those who still write
		wait(ended)
		return ended
	})
	// Also when take panics nothing may be left running.
	defer func() {
		agent.Kill()
		finish()
	}()
	end := NewFinalResponse(t.MaxOutput)
	if err := t.readLines(NewLineReader(agent.Stdout, t.MaxLine), end, take); err != nil {
		return Outcome{}, err
	}
	ended := finish()
	if err := ended.Shortage(); err != nil {
		return Outcome{}, err
	}
	return end.Emit(t, ended)
}

// input is what the agent reads first. Text ends like a line, for programs that read lines.
func (t Turn) input() ([]byte, error) {
	switch t.Stdin {
	case "text":
		return []byte(strings.TrimSuffix(t.Envelope.Text, "\n") + "\n"), nil
	case "none":
		return nil, nil
	}
	return t.Envelope.Line()
}

func (t Turn) readLines(lines *LineReader, end *FinalResponse, take LineFunc) error {
	for {
		line, err := lines.Next()
		var long *LongLineError
		switch {
		case err == nil:
			if err := take(line, end); err != nil {
				return err
			}
		case errors.As(err, &long):
			end.AddRemark("⚠ " + long.Error() + ".")
			if err := t.Emit(Frame{Kind: Log, Level: "warning", Text: long.Error()}); err != nil {
				return err
			}
		default:
			// A pipe that cannot be read any more has ended, whatever the reason.
			return nil
		}
	}
}
