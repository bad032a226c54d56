package terminal

import (
	"context"
	"errors"
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
	ctx    context.Context // only to tell why the agent was ended
	told   context.Context // ends when ctx does, but not before the agent was told
	unhook func() bool
	used   func(process.Usage) // is told at the end; nil: nobody asks
}

// launch starts the child and ties its life to ctx.
func launch(ctx context.Context, o process.Options) (*Agent, error) {
	o.Grace, o.StderrTail = grace, stderrTail
	child, err := process.Start(o)
	if err != nil {
		return nil, unbegun(err)
	}
	told, tell := context.WithCancelCause(context.WithoutCancel(ctx))
	return &Agent{Child: child, ctx: ctx, told: told, unhook: context.AfterFunc(ctx, func() {
		defer tell(context.Cause(ctx))
		if errors.Is(context.Cause(ctx), ErrTimeout) {
			child.Kill()
		} else {
			child.Stop(patience)
		}
	})}, nil
}

// Ended says how an agent ended and, where it was ended by force, why.
type Ended struct {
	process.Exit
	Cause error
}

// Wait returns once the agent's whole process group is dead and reaped.
func (a *Agent) Wait() Ended {
	e := Ended{Exit: a.Child.Wait()}
	a.unhook()
	if e.Forced {
		e.Cause = context.Cause(a.ctx)
	}
	if a.used != nil {
		a.used(e.Used)
	}
	return e
}
