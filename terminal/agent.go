package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nanobot/terminal/process"
)

const (
	// patience is how long an agent that was asked to stop may take before it is killed.
	patience = 3 * time.Second
	// grace is how long a process that the agent left behind may hold its output in silence.
	grace = 500 * time.Millisecond
	// stderrTail is how much of stderr is kept; the end of a traceback is the part that tells.
	stderrTail = 16 << 10
)

// Agent is a launched command. Read Stdout to its end, or Kill, then Wait.
type Agent struct {
	*process.Child
	cause  func() error // why the context of the launch ended; nil: it has not
	unhook func() bool
	used   func(process.Usage) // is told at the end; nil: nobody asks
}

// launch starts the child and ties its life to ctx. When ctx has ended and the child was signalled,
// onStop is called with the cause; it may be nil.
func launch(ctx context.Context, o process.Options, onStop context.CancelCauseFunc) (*Agent, error) {
	o.Grace, o.StderrTail = grace, stderrTail
	child, err := process.Start(o)
	if err != nil {
		return nil, unbegun(err)
	}
	cause := func() error { return context.Cause(ctx) }
	return &Agent{Child: child, cause: cause, unhook: context.AfterFunc(ctx, func() {
		if onStop != nil {
			defer onStop(cause())
		}
		if errors.Is(cause(), ErrTimeout) {
			child.Kill()
		} else {
			child.Stop(patience)
		}
	})}, nil
}

// AgentExit says how an agent ended and, where it was ended by force, why.
type AgentExit struct {
	process.Exit
	Cause error
}

// Words says how the agent ended.
func (e AgentExit) Description() string {
	if e.Signal != "" {
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Wait returns once the agent's whole process group is dead and reaped.
func (a *Agent) Wait() AgentExit {
	e := AgentExit{Exit: a.Child.Wait()}
	a.unhook()
	if e.Forced {
		e.Cause = a.cause()
	}
	if a.used != nil {
		a.used(e.Usage)
	}
	return e
}
