// Package shellrun runs shell commands for an agent, where the agent runs and under its limits. It
// knows nothing of who asked for the command, nor of what becomes of its output.
package shellrun

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/terminal"
	"nanobot/terminal/process"
)

const (
	// silence is how long a process that a command left behind may hold its output in silence, and
	// chatter how long one that goes on writing is read.
	silence, chatter = 50 * time.Millisecond, 500 * time.Millisecond
	// maxCommand is the longest command that the shell is handed: Linux bounds a single argument
	// (MAX_ARG_STRLEN, less the final NUL).
	maxCommand = 128<<10 - 1
)

// Options says how commands are run.
type Options struct {
	ExecEnv terminal.ExecEnv
	Timeout time.Duration
	// Head and Tail are how many of the first and of the last bytes are kept of each output stream.
	Head, Tail int
	Started    func(pid int) // nil: nobody is told
}

// Result is what a command did. Its streams are never nil.
type Result struct {
	Code           int  // its exit status as a shell tells it
	TimedOut       bool // it was killed after the timeout
	Stdout, Stderr *process.Bounded
}

// ErrTooLong is a command that the kernel would not hand to the shell.
var ErrTooLong = fmt.Errorf("the command is longer than %d bytes", maxCommand)

// Run runs a command with /bin/sh and kills all of its processes when it ends, when its time is up,
// or when ctx ends; the result then says nothing. The error is why the command did not run.
func Run(ctx context.Context, command string, o Options) (Result, error) {
	result := Result{Stdout: process.NewBounded(o.Head, o.Tail), Stderr: process.NewBounded(0, 0)}
	if len(command) > maxCommand {
		return result, ErrTooLong
	}
	child, err := process.Start(o.ExecEnv.ApplySandbox(process.Options{
		Path: "/bin/sh", Args: []string{"/bin/sh", "-c", command}, Dir: o.ExecEnv.Dir, Env: o.ExecEnv.Env,
		NoInput: true, WholeSession: true, StderrHead: o.Head, StderrTail: o.Tail, Grace: silence, MaxLinger: chatter,
	}))
	if err != nil {
		return result, err
	}
	if o.Started != nil {
		o.Started(child.Pid())
	}
	defer context.AfterFunc(ctx, child.Kill)()
	var late atomic.Bool
	defer process.NewStopwatch(o.Timeout, func() {
		late.Store(true)
		child.Kill()
	}).Stop()
	_, _ = io.Copy(result.Stdout, child.Stdout) // a pipe that cannot be read any more has ended
	exit := child.Wait()
	result.Stderr, result.Code, result.TimedOut = exit.Stderr, exitCode(exit), exit.Forced && late.Load()
	return result, exit.ExecError
}

// exitCode is the exit status as a shell tells it.
func exitCode(e process.Exit) int {
	if e.Signal != "" {
		return 128 + int(unix.SignalNum(e.Signal))
	}
	return e.Code
}
