// Package process runs child processes and makes sure that none of their descendants survives.
//
// A child leads its own session and process group, has its own pipes or pseudo-terminal, and gets
// its input while its output is read. When Wait returns, its process group is dead and reaped. With
// a Supervisor, which uses cgroups, the subreaper attribute and a mark in the environment, so are
// all its descendants. After a crash of this program, KillRun and KillPersistent kill the processes
// that were left. The package does not interpret input or output.
package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Options configures a child.
type Options struct {
	Args []string // the program and its arguments
	Path string   // the program's file; "": Args[0] is looked up in the PATH of this process
	// Fallback are the arguments of the program that is started if Path cannot be executed; nil:
	// Start fails.
	Fallback []string
	Dir      string
	Env      []string
	Input    []byte // written to stdin, which is then closed
	// KeepInput leaves stdin open after Input, for Write, until CloseInput or the exit of the
	// child.
	KeepInput bool
	// DelayInput starts the child without input, which SetInput gives it later. Input must be
	// empty.
	DelayInput bool
	// NoInput gives the child /dev/null for stdin.
	NoInput bool
	// MergeStderr sends stderr to Stdout.
	MergeStderr bool
	// Terminal runs the child on a pseudo-terminal of this size, which is its controlling terminal,
	// instead of pipes; nil: no terminal. It implies KeepInput, MergeStderr and WholeSession. Input
	// and Write are typed into it. A terminal has no end of input: programs read Ctrl-D (byte 4),
	// and CloseInput only ends the writing. Stop sends SIGHUP, as closing a terminal does. The
	// caller sets TERM in Env.
	Terminal *Size
	// StderrHead and StderrTail are how many of the first and last bytes of stderr are kept.
	StderrHead, StderrTail int
	// Grace is how long descendants may hold the pipes open without writing after the child has
	// exited.
	Grace time.Duration
	// MaxLinger is how long descendants that keep writing are read after the child has exited; 0
	// means 5 seconds.
	MaxLinger time.Duration
	// WholeSession signals all processes of the child's session instead of its process group:
	// timeout(1) and interactive shells create process groups. After Stop, all of them may take as
	// long as the child may, and their output is read. It costs one scan of /proc at the end and
	// only works on Linux.
	WholeSession bool
	// Owner names the chat that the child works for, for Supervisor.OwnerOf; "": none.
	Owner string
	// Supervisor kills all descendants of the child when it exits; nil: only the processes of its
	// process group, or of its session, are killed.
	Supervisor *Supervisor
	// Memory (bytes) and Processes limit the child and its descendants together; 0: unlimited.
	// Start fails where Supervisor.CanLimit reports false.
	Memory    int64
	Processes int
	// OnCgroupEmpty, if not nil, is called when the child has exited and left no process in its
	// cgroup, before its output is read to the end. Without a cgroup it is never called.
	OnCgroupEmpty func()
	// User is the user that the child runs as; nil: the user of this process.
	User *syscall.Credential
	// Namespaces are the CLONE_NEW flags of the child's own namespaces, and Ambient the
	// capabilities that it keeps on execve. Both are only supported on Linux.
	Namespaces uintptr
	Ambient    []uintptr
	// Helper says that the program is a helper that executes another program. Its descriptor
	// ReportFD is the pipe for ReportExecError.
	Helper bool
}

// withTerminalDefaults sets the options that Terminal implies.
func (o Options) withTerminalDefaults() Options {
	if o.Terminal != nil {
		o.KeepInput, o.NoInput, o.MergeStderr, o.WholeSession = true, false, true, true
	}
	return o
}

// inputFitsPipe reports whether the whole input can be written to the pipe before the child is
// started.
func (o Options) inputFitsPipe() bool {
	return !o.NoInput && !o.KeepInput && !o.DelayInput && len(o.Input) <= minPipeCapacity
}

// hasLimits reports whether the child needs a cgroup with limits.
func (o Options) hasLimits() bool { return o.Memory > 0 || o.Processes > 0 }

// Exit describes how a child ended.
type Exit struct {
	Code   int    // meaningful when Signal is ""; -1: not known
	Signal string // such as SIGKILL, or ""
	// Forced reports that Kill or Stop was called before the child had exited by itself.
	Forced bool
	// Stderr is the beginning and the end of the child's standard error.
	Stderr *Bounded
	// Unread is how many of the last bytes written to stdin the child had not read. It is only
	// known with Options.KeepInput or DelayInput, for pipes, and on Linux.
	Unread int
	// ExecError is the error by which a helper could not execute its program, as reported by
	// ReportExecError; nil: it could, or it reported nothing.
	ExecError error
	// Usage covers the child and all descendants that were waited for, or all descendants if the
	// child had a cgroup.
	Usage Usage
}

// OK reports whether the child exited by itself with status 0.
func (e Exit) OK() bool { return e.Code == 0 && e.Signal == "" && !e.Forced }

// Child is a started process. Read Stdout to its end, or Kill, then Wait.
type Child struct {
	// Stdout ends when every writer has closed it, or when descendants have held it open for the
	// grace period after the exit of the child. Output written until then is always read.
	Stdout io.Reader

	leader     *leader
	in         *input
	out        *output
	err        *output
	report     *os.File // of a helper, or nil
	stderr     *Bounded
	hasStderr  atomic.Bool   // something was read from stderr
	exited     chan struct{} // closed when the child has exited, before it is reaped
	goroutines sync.WaitGroup

	supervised   *supervisedChild
	wholeSession bool // Options.WholeSession
	onTerminal   bool // Options.Terminal
	stopSignals  []unix.Signal

	mu          sync.Mutex
	forced      bool
	exitNoticed bool // exited was noticed: a later signal did not end the child
	reaped      bool
	killed      bool
	timer       *Stopwatch // of Stop
	lastUsage   Usage      // the last known values
	wait        func() Exit
}

// Start starts a child. When it returns nil, Wait must be called. Without a free file descriptor it
// closes the idle cgroups of the Supervisor and tries once more.
func Start(o Options) (*Child, error) {
	c, err := start(o)
	if errno, _ := Shortage(err); (errno == syscall.EMFILE || errno == syscall.ENFILE) && o.Supervisor.closeIdleCgroups() {
		c, err = start(o)
	}
	if _, short := Shortage(err); err == nil || short || o.Fallback == nil || errors.Is(err, syscall.E2BIG) {
		return c, err
	}
	o.Path, o.Args, o.Fallback = "", o.Fallback, nil
	return Start(o)
}

func start(o Options) (*Child, error) {
	if len(o.Args) == 0 {
		return nil, errors.New("start process: no program named")
	}
	o = o.withTerminalDefaults()
	l, err := newLeader(o)
	if err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	p, err := openPipes(o)
	if err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	l.files = p.childFiles()
	supervised, err := o.Supervisor.start(l, o)
	if err != nil {
		p.closeAll()
		// fork/exec reports a missing working folder as a missing program.
		if _, serr := os.Stat(o.Dir); o.Dir != "" && serr != nil {
			err = fmt.Errorf("working folder: %w", serr)
		}
		return nil, fmt.Errorf("start process: %w", err)
	}
	p.closeChildEnds(o)
	return newChild(l, supervised, p, o), nil
}

func newChild(l *leader, s *supervisedChild, p pipes, o Options) *Child {
	c := &Child{leader: l, supervised: s, in: newInput(p, o), exited: make(chan struct{})}
	c.stderr, c.wholeSession, c.report = NewBounded(o.StderrHead, o.StderrTail), o.WholeSession, p.reportRead
	c.onTerminal, c.stopSignals = o.Terminal != nil, o.stopSignals()
	c.out = newOutput(p.outRead, c.exited, o)
	c.err = newOutput(p.errRead, c.exited, o)
	c.Stdout = c.out
	c.wait = sync.OnceValue(c.waitAndReap)
	if !o.NoInput && !o.inputFitsPipe() {
		c.goroutines.Go(func() { c.in.writeInitial(c.exited) })
	}
	if !o.MergeStderr {
		c.goroutines.Go(c.readStderr)
	}
	c.goroutines.Go(func() { c.watchExit(o.OnCgroupEmpty) })
	return c
}

// Pid returns the child's process ID, which is also the ID of its process group and session.
func (c *Child) Pid() int { return c.leader.pid }

// Kill sends SIGKILL to the process group, the cgroup and, with WholeSession, the session. It may
// be called at any time, from any goroutine.
func (c *Child) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.signal(unix.SIGKILL)
	if !c.reaped {
		c.supervised.cgroup.kill()
	}
	c.killed = true
	c.out.stopTimeout.Store(0)
	if c.wholeSession && c.exitNoticed && !c.reaped {
		c.out.startGrace()
	}
}

// Stop asks the process group to exit by a signal, and kills it after the timeout.
func (c *Child) Stop(timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.timer == nil && !c.killed && !c.reaped
	if first && c.wholeSession {
		c.out.stopTimeout.Store(int64(timeout))
	}
	for _, s := range c.stopSignals {
		c.signal(s)
	}
	if first {
		c.timer = NewStopwatch(timeout, c.Kill)
	}
}

// Wait returns once the child has exited, its stderr is read, and its process group is dead and
// reaped. It may be called again and returns the same.
func (c *Child) Wait() Exit { return c.wait() }

func (c *Child) waitAndReap() Exit {
	<-c.exited
	// Nobody reads stdin any more. Closing it unblocks writeInitial and Write.
	c.in.closeFile()
	c.goroutines.Wait()
	c.in.countLeft()
	if c.wholeSession {
		c.waitForSession()
		if !c.supervised.findsAllDescendants() {
			c.killSession()
		}
	}
	c.mu.Lock()
	if c.timer != nil {
		c.timer.Stop()
	}
	// Until the leader is reaped, the kernel does not reuse its PID, nor the ID of its group.
	_ = unix.Kill(-c.Pid(), unix.SIGKILL)
	c.reaped = true
	forced := c.forced
	c.mu.Unlock()
	c.supervised.killDescendants(c.Pid())
	e := Exit{
		Forced: forced, Stderr: c.stderr, Unread: c.in.unread, Usage: c.supervised.cgroup.usage(),
		ExecError: readExecError(c.report),
	}
	c.supervised.subreaper.reap(c.leader, c.supervised)
	c.supervised.cgroup.release(e.Usage)
	e.Usage = e.Usage.max(reapedUsage(c.leader)).max(c.Usage())
	c.mu.Lock()
	c.lastUsage = e.Usage
	c.mu.Unlock()
	closeFiles(c.out.file, c.err.file)
	switch ws := c.leader.status; {
	case c.leader.lost:
		e.Code = -1
	case ws.Signaled():
		e.Signal = signalName(ws.Signal())
	default:
		e.Code = ws.ExitStatus()
	}
	return e
}

// readStderr reads stderr to its end. Most children write little to it, so the buffer is small.
func (c *Child) readStderr() {
	buf := make([]byte, 2<<10)
	for {
		n, err := c.err.Read(buf)
		if n > 0 {
			c.hasStderr.Store(true)
			_, _ = c.stderr.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// watchExit waits for the exit of the child and starts the grace period of reads that descendants
// may block.
func (c *Child) watchExit(onCgroupEmpty func()) {
	awaitExit(c.leader)
	if onCgroupEmpty != nil && c.supervised.cgroup.empty() {
		onCgroupEmpty()
	}
	c.mu.Lock()
	c.exitNoticed = true
	c.mu.Unlock()
	close(c.exited)
	c.out.startGrace()
	c.err.startGrace()
}

func (c *Child) signal(s unix.Signal) {
	if c.reaped {
		return
	}
	if !c.exitNoticed && !hasExited(c.Pid()) { // it may have exited unnoticed
		c.forced = true
	}
	_ = unix.Kill(-c.Pid(), s)
	if c.wholeSession {
		c.signalSession(s)
	}
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}
