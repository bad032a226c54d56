// Package shellrun runs shell commands in the execution environment of an agent, under its limits.
// It knows nothing of the purpose of a command or its output.
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
	// outputGrace is how long descendants of a command may hold its output open without writing,
	// and maxLinger how long descendants that keep writing are read.
	outputGrace, maxLinger = 50 * time.Millisecond, 500 * time.Millisecond
	// maxCommand is the longest argument that Linux passes to a program (MAX_ARG_STRLEN without the
	// final NUL).
	maxCommand = 128<<10 - 1
)

// Options configures Run.
type Options struct {
	ExecEnv terminal.ExecEnv
	Timeout time.Duration
	// Head and Tail are how many of the first and last bytes of each output stream are kept.
	Head, Tail int
	OnStart    func(pid int) // called after the start; may be nil
}

// Result is the result of a command. Its streams are never nil.
type Result struct {
	Code           int  // its exit status; 128 plus the number of a signal
	TimedOut       bool // it was killed after the timeout
	Stdout, Stderr *process.Bounded
}

// ErrTooLong says that a command is longer than the kernel would pass to the shell.
var ErrTooLong = fmt.Errorf("the command is longer than %d bytes", maxCommand)

// Run runs a command with /bin/sh and kills all its processes when it exits, after the timeout, or
// when ctx ends; in the last case the result is meaningless. The error is why the command did not
// run.
func Run(ctx context.Context, command string, o Options) (Result, error) {
	result := Result{Stdout: process.NewBounded(o.Head, o.Tail), Stderr: process.NewBounded(0, 0)}
	if len(command) > maxCommand {
		return result, ErrTooLong
	}
	child, err := process.Start(o.ExecEnv.ApplySandbox(process.Options{
		Path: "/bin/sh", Args: []string{"/bin/sh", "-c", command}, Dir: o.ExecEnv.Dir, Env: o.ExecEnv.Env,
		NoInput: true, WholeSession: true, StderrHead: o.Head, StderrTail: o.Tail, Grace: outputGrace, MaxLinger: maxLinger,
	}))
	if err != nil {
		return result, err
	}
	if o.OnStart != nil {
		o.OnStart(child.Pid())
	}
	defer context.AfterFunc(ctx, child.Kill)()
	var late atomic.Bool
	defer process.NewStopwatch(o.Timeout, func() {
		late.Store(true)
		child.Kill()
	}).Stop()
	_, _ = io.Copy(result.Stdout, child.Stdout) // a read error means the end of the output
	exit := child.Wait()
	result.Stderr, result.Code, result.TimedOut = exit.Stderr, exitCode(exit), exit.Forced && late.Load()
	return result, exit.ExecError
}

// exitCode returns the exit status as shells do: 128 plus the number of a signal.
func exitCode(e process.Exit) int {
	if e.Signal != "" {
		return 128 + int(unix.SignalNum(e.Signal))
	}
	return e.Code
}
