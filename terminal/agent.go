package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"
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
	// firstInput is the size of the input that an agent got which had been waiting for it; 0: it
	// was not waiting.
	firstInput int
}

// launch starts a child whose life is tied to ctx, as bind says.
func launch(ctx context.Context, o process.Options, onStop context.CancelCauseFunc) (*Agent, error) {
	o.Grace, o.StderrTail = outputGrace, stderrTail
	child, err := process.Start(o)
	if err != nil {
		return nil, wrapShortage(err)
	}
	return bind(ctx, child, onStop), nil
}

// bind ties the life of a child to ctx. When ctx has ended and the child was signalled, onStop is
// called with the cause; it may be nil.
func bind(ctx context.Context, child *process.Child, onStop context.CancelCauseFunc) *Agent {
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
	})}
}

// AgentExit describes how an agent ended, with the cause if it was ended by force.
type AgentExit struct {
	process.Exit
	Cause error
	// NothingRead says that the agent had been waiting for its input and ended by itself without
	// reading any of it.
	NothingRead bool
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
	e.NothingRead = !e.Forced && a.firstInput > 0 && e.Unread == a.firstInput
	if a.reportUsage != nil {
		a.reportUsage(e.Usage)
	}
	return e
}

// ReadResponse reads the whole output of an agent that answers once, and waits for its end. An
// agent that prints more than limit bytes is killed, and the error is a *LongLineError.
func (a *Agent) ReadResponse(limit int) ([]byte, AgentExit, error) {
	answer, err := io.ReadAll(io.LimitReader(a.Stdout, int64(limit)+1))
	if err == nil && len(answer) > limit {
		err = &LongLineError{Size: int64(len(answer)), Max: limit}
	}
	if err != nil {
		a.Kill()
	}
	return answer, a.Wait(), err
}

// usage sums the resource usage of a turn's processes.
type usage struct {
	mu         sync.Mutex
	sum        process.Usage
	persistent []persistentUse
}

// persistentUse is an agent that was started before the turn, with its usage until the turn.
type persistentUse struct {
	agent  *Agent
	before process.Usage
}

// add adds the usage of a process that has exited.
func (u *usage) add(used process.Usage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sum.CPU += used.CPU
	u.sum.Memory = max(u.sum.Memory, used.Memory)
}

// trackPersistent counts the usage of a persistent agent from now on.
func (u *usage) trackPersistent(a *Agent) {
	before := a.Usage()
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.ContainsFunc(u.persistent, func(k persistentUse) bool { return k.agent == a }) {
		u.persistent = append(u.persistent, persistentUse{a, before})
	}
}

func (u *usage) total() process.Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := u.sum
	for _, k := range u.persistent {
		now := k.agent.Usage()
		sum.CPU += now.CPU - k.before.CPU
		sum.Memory = max(sum.Memory, now.Memory) // of its whole life: the kernel keeps only one peak
	}
	return sum
}

// ShortageError says that a turn could not begin because the system lacked file descriptors,
// processes or memory. No agent has got the message, so the turn can be run again later.
type ShortageError struct {
	Errno syscall.Errno // EMFILE, ENFILE, EAGAIN, ENOMEM or ETXTBSY
	Err   error
}

func (e *ShortageError) Error() string { return e.Err.Error() }

func (e *ShortageError) Unwrap() error { return e.Err }

// IsShortage reports whether an error is a temporary shortage of file descriptors, processes or
// memory.
func IsShortage(err error) bool {
	_, ok := process.Shortage(err)
	return ok
}

// Shortage returns a *ShortageError if the helper could not execute the agent because of a
// shortage, otherwise nil.
func (e AgentExit) Shortage() error {
	if !IsShortage(e.ExecError) || e.Forced {
		return nil
	}
	return wrapShortage(fmt.Errorf("start agent: %w", e.ExecError))
}

// wrapShortage makes a *ShortageError of an error from before the start of the agent, if it is a
// shortage.
func wrapShortage(err error) error {
	if errno, ok := process.Shortage(err); ok {
		return &ShortageError{Errno: errno, Err: err}
	}
	return err
}
