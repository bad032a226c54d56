// Package process runs child processes and makes sure that no process of theirs is left.
//
// A child leads its own session and process group, has its own pipes or pseudo-terminal, and gets
// its input while its output is read. When Wait returns, its process group is dead and reaped, and
// with a Supervisor, which uses cgroups, the subreaper attribute and marks in the environment, so
// is every process that the child has started. After a crash of this program, KillRun and KillOwned
// kill what was left. The package knows nothing of what is said through the pipes.
package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Options says what to start.
type Options struct {
	Args  []string // the program and its arguments
	Path  string   // the program's file; "": looked up by Args[0] in our own PATH
	Dir   string
	Env   []string
	Input []byte // written to stdin, which is then closed
	// KeepInput leaves stdin open behind Input, for Write, until CloseInput or the child's end.
	KeepInput bool
	// NoInput gives the child /dev/null for stdin.
	NoInput bool
	// Merge sends stderr into Stdout, in the order of writing.
	Merge bool
	// Terminal gives the child a pseudo-terminal of this size in place of the pipes, as its
	// controlling terminal; nil: it has none. It implies KeepInput, Merge and Session. Input and
	// Write are typed into it; a terminal has no end of input, so a program is told by Ctrl-D (byte
	// 4), and CloseInput only ends the writing. Stop sends SIGHUP, as closing a terminal does. TERM
	// is for the caller to set in Env.
	Terminal *Size
	// StderrHead and StderrTail are how many of the first and of the last bytes of stderr are kept.
	StderrHead, StderrTail int
	// Grace is how long a descendant may hold the pipes in silence after the child itself has
	// exited.
	Grace time.Duration
	// Hold is how long descendants that keep writing are heard out after that. 0: 5 s.
	Hold time.Duration
	// Session reaches every process of the child's session rather than of its group: timeout(1) and
	// interactive shells make groups of their own. After Stop, all of them are heard out and may
	// take as long as the child may. It costs a look through /proc at the end and only works on
	// Linux.
	Session bool
	// Owner names whom the child works for, for Supervisor.OwnerOf; "": nobody in particular.
	Owner string
	// Supervisor kills whatever the child has started when the child ends; nil: only the processes
	// of its process group, or of its session, are killed.
	Supervisor *Supervisor
	// Memory in bytes and Processes are the most that the child and all that it starts may have
	// together; 0: any number. The child is not started where Supervisor.CanLimit denies it.
	Memory    int64
	Processes int
	// OnEmpty, if not nil, is called when the child has exited and has left no process in its
	// cgroup, before its output is read to the end. Without a cgroup it is never called.
	OnEmpty func()
	// User is who it runs as; nil: as we do.
	User *syscall.Credential
	// Namespaces are the CLONE_NEW flags of the namespaces that it gets of its own, and Ambient the
	// capabilities that it keeps when it executes its program. Only Linux has them.
	Namespaces uintptr
	Ambient    []uintptr
	// Helper says that the program is a helper that becomes another one. It finds the pipe for
	// Report as its descriptor ReportFD.
	Helper bool
}

// implied returns the options with those that a terminal implies.
func (o Options) implied() Options {
	if o.Terminal != nil {
		o.KeepInput, o.NoInput, o.Merge, o.Session = true, false, true, true
	}
	return o
}

// fitsPipe reports whether all of the input is put into the pipe before the child is started.
func (o Options) fitsPipe() bool { return !o.NoInput && !o.KeepInput && len(o.Input) <= pipeHolds }

// limited reports whether the child needs a cgroup with limits.
func (o Options) limited() bool { return o.Memory > 0 || o.Processes > 0 }

// Exit says how a child ended.
type Exit struct {
	Code   int    // meaningful when Signal is ""
	Signal string // such as SIGKILL, or ""
	// Forced reports that Kill or Stop came before the child had exited by itself.
	Forced bool
	// Stderr is the beginning and the end of what the child wrote there.
	Stderr *Bounded
	// Unread is how many of the last bytes in its stdin the child had not read when that was
	// closed. It is only known with Options.KeepInput, of pipes, and on Linux.
	Unread int
	// NotRun is why a helper did not become its program, as it has told by Report; nil: it did, or
	// it told nothing.
	NotRun error
	// Used is what it took, with all that it has started and waited for, or all that it has started
	// if it had a cgroup.
	Used Usage
}

// OK reports whether the child exited by itself with status 0.
func (e Exit) OK() bool { return e.Code == 0 && e.Signal == "" && !e.Forced }

// Child is a started process. Read Stdout to its end, or Kill, then Wait.
type Child struct {
	// Stdout ends when every writer has closed it, or when a descendant has held it for the grace
	// period after the child has exited. What was written by then is always read.
	Stdout io.Reader

	cmd    *exec.Cmd
	in     *input
	out    *output
	err    *output
	report *os.File // of a helper, or nil
	stderr *Bounded
	exited chan struct{} // closed when the child has exited, before it is reaped
	work   sync.WaitGroup

	supervised   *supervised
	wholeSession bool // Options.Session
	onTerminal   bool // Options.Terminal
	stopSignals  []unix.Signal

	mu     sync.Mutex
	forced bool
	left   bool // exited has been noticed: from here on a signal is not what ended it
	reaped bool
	killed bool
	timer  *time.Timer
	last   Usage // that is known
	wait   func() Exit
}

// Start starts a child. When it returns nil, Wait must be called.
func Start(o Options) (*Child, error) {
	if len(o.Args) == 0 {
		return nil, errors.New("start process: no program named")
	}
	o = o.implied()
	cmd := &exec.Cmd{Path: o.Path, Args: o.Args}
	if o.Path == "" {
		cmd = exec.Command(o.Args[0], o.Args[1:]...)
	}
	cmd.Dir, cmd.Env, cmd.SysProcAttr = o.Dir, o.Env, attributes(o)
	p, err := openPipes(o)
	if err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	p.attach(cmd)
	supervised, err := o.Supervisor.start(cmd, o)
	if err != nil {
		p.closeAll()
		// With process attributes set, os blames the program for a missing folder.
		if _, serr := os.Stat(o.Dir); o.Dir != "" && serr != nil {
			err = fmt.Errorf("working folder: %w", serr)
		}
		return nil, fmt.Errorf("start process: %w", err)
	}
	p.closeChildEnds()
	return newChild(cmd, supervised, p, o), nil
}

func newChild(cmd *exec.Cmd, s *supervised, p pipes, o Options) *Child {
	c := &Child{cmd: cmd, supervised: s, in: newInput(p.inWrite, o), exited: make(chan struct{})}
	c.stderr, c.wholeSession, c.report = NewBounded(o.StderrHead, o.StderrTail), o.Session, p.reportRead
	c.onTerminal, c.stopSignals = o.Terminal != nil, o.stopSignals()
	c.out = newOutput(p.outRead, c.exited, o)
	c.err = newOutput(p.errRead, c.exited, o)
	c.Stdout = c.out
	c.wait = sync.OnceValue(c.finish)
	if !o.NoInput && !o.fitsPipe() {
		c.work.Go(func() { c.in.feed(o.Input, c.exited) })
	}
	if !o.Merge {
		c.work.Go(c.drain)
	}
	c.work.Go(func() { c.watch(o.OnEmpty) })
	return c
}

// Pid returns the child's process id, which is also its group's.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Kill kills the whole group at once. It may be called at any time, from any goroutine.
func (c *Child) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.signal(unix.SIGKILL)
	if !c.reaped {
		c.supervised.killCgroup()
	}
	c.killed = true
	c.out.patience.Store(0)
	if c.wholeSession && c.left && !c.reaped {
		c.out.wake()
	}
}

// Stop asks the whole group to end and kills it if it has not ended after patience.
func (c *Child) Stop(patience time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.timer == nil && !c.killed && !c.reaped
	if first && c.wholeSession {
		c.out.patience.Store(int64(patience))
	}
	for _, s := range c.stopSignals {
		c.signal(s)
	}
	if first {
		c.timer = time.AfterFunc(patience, c.Kill)
	}
}

// Wait returns once the child has exited, its stderr is read, and its whole group is dead and
// reaped. It may be called again and answers the same.
func (c *Child) Wait() Exit { return c.wait() }

func (c *Child) finish() Exit {
	<-c.exited
	// Nobody reads stdin any more; this frees feed and Write if the child never read its input.
	c.in.shut()
	c.work.Wait()
	if c.wholeSession {
		c.waitForSession()
		if !c.supervised.findsAll() {
			c.killSession()
		}
	}
	c.mu.Lock()
	if c.timer != nil {
		c.timer.Stop()
	}
	// While the leader is not reaped its pid, and so the group's id, cannot belong to anybody else.
	_ = unix.Kill(-c.Pid(), unix.SIGKILL)
	c.reaped = true
	forced := c.forced
	c.mu.Unlock()
	c.supervised.killDescendants(c.Pid())
	e := Exit{Forced: forced, Stderr: c.stderr, Unread: c.in.unread, Used: c.supervised.usage(), NotRun: readReport(c.report)}
	c.supervised.reap(c.cmd)
	c.supervised.releaseCgroup(e.Used)
	e.Used = e.Used.or(usageOf(c.cmd.ProcessState)).or(c.Used())
	c.mu.Lock()
	c.last = e.Used
	c.mu.Unlock()
	closeFiles(c.out.file, c.err.file)
	if ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		e.Signal = signalName(ws.Signal())
	} else {
		e.Code = ws.ExitStatus()
	}
	return e
}

// drain reads stderr to its end, whatever becomes of stdout. Most children say little there, so the
// buffer is small.
func (c *Child) drain() {
	buf := make([]byte, 2<<10)
	for {
		n, err := c.err.Read(buf)
		_, _ = c.stderr.Write(buf[:n])
		if err != nil {
			return
		}
	}
}

// watch notices the exit of the leader and wakes readers that a descendant would keep waiting.
func (c *Child) watch(onEmpty func()) {
	awaitExit(c.cmd)
	if onEmpty != nil && c.supervised.leftNone() {
		onEmpty()
	}
	c.mu.Lock()
	c.left = true
	c.mu.Unlock()
	close(c.exited)
	c.out.wake()
	if c.err.file != nil {
		c.err.wake()
	}
}

func (c *Child) signal(s unix.Signal) {
	if c.reaped {
		return
	}
	if !c.left && !hasExited(c.Pid()) { // it may have, and we were not able to notice
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
