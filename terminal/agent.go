package terminal

import (
	"context"
	"errors"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal/process"
)

const (
	// stopTimeout is how long an agent may take to exit after SIGTERM before it is killed.
	stopTimeout = 3 * time.Second
	// outputGrace is how long a descendant may hold the agent's output open without writing.
	outputGrace = 500 * time.Millisecond
	// stderrTail is how much of stderr is kept: its end, where tracebacks name the error.
	stderrTail = 16 << 10
)

// Agent is a launched command. Read Stdout to its end, or Kill, then Wait.
type Agent struct {
	*process.Child
	contextCause  func() error // cause of the launch context's end; nil: it has not ended
	detachContext func() bool
	reportUsage   func(process.Usage) // called after the exit; may be nil
}

// launch starts a child whose life is tied to ctx. When ctx has ended and the child was signalled,
// onStop is called with the cause; it may be nil.
func launch(ctx context.Context, o process.Options, onStop context.CancelCauseFunc) (*Agent, error) {
	o.Grace, o.StderrTail = outputGrace, stderrTail
	child, err := process.Start(o)
	if err != nil {
		return nil, wrapShortage(err)
	}
	cause := func() error { return context.Cause(ctx) }
	return &Agent{Child: child, contextCause: cause, detachContext: context.AfterFunc(ctx, func() {
		if onStop != nil {
			defer onStop(cause())
		}
		if errors.Is(cause(), ErrTimeout) {
			child.Kill()
		} else {
			child.Stop(stopTimeout)
		}
	})}, nil
}

// AgentExit describes how an agent ended, with the cause if it was ended by force.
type AgentExit struct {
	process.Exit
	Cause error
}

// Description returns the exit status or signal as text.
func (e AgentExit) Description(w words.Words) string {
	if e.Signal != "" {
		return w.Text(words.ExitKilled, e.Signal)
	}
	return w.Text(words.ExitStatus, e.Code)
}

// Wait returns once the agent's whole process group is dead and reaped.
func (a *Agent) Wait() AgentExit {
	e := AgentExit{Exit: a.Child.Wait()}
	a.detachContext()
	if e.Forced {
		e.Cause = a.contextCause()
	}
	if a.reportUsage != nil {
		a.reportUsage(e.Usage)
	}
	return e
}
