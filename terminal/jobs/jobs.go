// Package jobs runs commands in the background for a session that polls their output. Each has an
// ID and limits, its last output is kept, and no process survives: descendants of a command end
// with it, and all commands end with the session. The package knows nothing of protocols.
package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"nanobot/terminal/process"
)

// ErrUnknownJob says that the table has no job with this ID, or no longer.
var ErrUnknownJob = errors.New("unknown id: no such command in this session, or it was released")

const (
	defaultOutput = 1 << 20
	defaultGrace  = 3 * time.Second
	// outputGrace is how long descendants may hold the output open without writing after the
	// command's exit, and maxLinger how long descendants that keep writing are read.
	outputGrace, maxLinger = 200 * time.Millisecond, time.Second
)

// Limits limits the resources of a session.
type Limits struct {
	Jobs       int           // jobs that are not released; a new job replaces the oldest one that has ended; 0: unlimited
	MaxRuntime time.Duration // 0: unlimited
	Output     int           // default and maximum of a job's kept output in bytes; 0: 1 MiB
	Memory     int64         // RLIMIT_DATA of each process in bytes; 0: unlimited
	Grace      time.Duration // between SIGTERM and SIGKILL; 0: 3 s
}

// Options configures a Table.
type Options struct {
	Limits Limits
	Dir    string   // default working folder; an absolute path
	Roots  []string // working folders must be inside these or Dir
	Shell  string   // for command lines; "": /bin/sh
	// ApplySandbox, if not nil, returns the options of a process with limits and a sandbox.
	ApplySandbox func(process.Options) process.Options
}

// Command is a command to run.
type Command struct {
	// Line is a program, by name or path. Without Args it may also be a line for the shell.
	Line      string
	Args      []string // passed as they are
	Dir       string   // an absolute path; "": the session's
	Env       []string // the whole environment: nothing is inherited
	MaxOutput *int     // bytes of output to keep; nil: Limits.Output
}

// Exit is how a command ended: Code or Signal is set, the other is nil.
type Exit struct {
	Code   *int
	Signal *string // such as SIGTERM
}

// Output is a job's output so far, stdout and stderr together, as valid UTF-8.
type Output struct {
	Text      string
	Truncated bool  // the beginning is missing
	Exit      *Exit // nil while it runs
}

// Table holds the jobs of one session. It is safe for concurrent use.
type Table struct {
	o          Options
	goroutines sync.WaitGroup

	mu      sync.Mutex
	jobs    map[string]*job // a released job stays until it has ended
	created int             // jobs so far
	closed  bool
}

// NewTable returns an empty table, which must be closed.
func NewTable(o Options) *Table {
	if o.Shell == "" {
		o.Shell = "/bin/sh"
	}
	if o.Limits.Output <= 0 {
		o.Limits.Output = defaultOutput
	}
	if o.Limits.Grace <= 0 {
		o.Limits.Grace = defaultGrace
	}
	return &Table{o: o, jobs: map[string]*job{}}
}

// Create starts a command and returns its ID at once. An error means that nothing was started.
func (t *Table) Create(c Command) (id string, err error) {
	o, err := t.o.prepare(c)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", fmt.Errorf("run %q: the session is over", c.Line)
	}
	if !t.makeRoom() {
		return "", fmt.Errorf("run %q: this session has %d commands that run, which is the limit; release one first", c.Line,
			len(t.jobs))
	}
	if t.o.ApplySandbox != nil {
		o = t.o.ApplySandbox(o)
	}
	child, err := process.Start(o)
	if err != nil {
		return "", fmt.Errorf("run %q: %w", c.Line, err)
	}
	id = "term_" + rand.Text()
	j := newJob(child, t.o.outputLimit(c), t.o.Limits.Grace)
	t.created++
	j.sequence = t.created
	t.jobs[id] = j
	t.goroutines.Go(func() {
		j.readUntilExit(t.o.Limits.MaxRuntime)
		t.markEnded(id)
		close(j.done)
	})
	return id, nil
}

// makeRoom reports whether one more job may be created. If necessary it forgets the oldest job that
// has ended, since not every session releases its jobs. The caller holds mu.
func (t *Table) makeRoom() bool {
	if t.o.Limits.Jobs <= 0 || len(t.jobs) < t.o.Limits.Jobs {
		return true
	}
	oldest := ""
	for id, j := range t.jobs {
		if j.ended && (oldest == "" || j.sequence < t.jobs[oldest].sequence) {
			oldest = id
		}
	}
	if oldest == "" {
		return false
	}
	t.forget(oldest, t.jobs[oldest])
	return true
}

// Output returns the output of a job so far, and how it ended once it has.
func (t *Table) Output(id string) (Output, error) {
	j, err := t.find(id)
	if err != nil {
		return Output{}, err
	}
	return j.output(), nil
}

// Wait returns when a job has ended and its whole output is available from Output. If ctx ends
// first, the job continues.
func (t *Table) Wait(ctx context.Context, id string) (Exit, error) {
	j, err := t.find(id)
	if err != nil {
		return Exit{}, err
	}
	return j.wait(ctx)
}

// Kill stops a job and returns when it has ended. If ctx ends first, the job still ends. It may be
// called again, and the ID stays valid.
func (t *Table) Kill(ctx context.Context, id string) error {
	j, err := t.find(id)
	if err != nil {
		return err
	}
	j.stop()
	_, err = j.wait(ctx)
	return err
}

// KillAll stops all jobs without waiting, and returns how many were running. Their IDs stay valid.
func (t *Table) KillAll() int { return t.eachRunning((*job).stop) }

// Running returns how many jobs are running.
func (t *Table) Running() int { return t.eachRunning(func(*job) {}) }

func (t *Table) eachRunning(do func(*job)) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range t.jobs {
		if !j.ended && !j.released {
			n++
			do(j)
		}
	}
	return n
}

// Release invalidates the ID, stops the job and returns when it has ended. If ctx ends first, the
// job still ends. Pending calls of Wait return how it ended.
func (t *Table) Release(ctx context.Context, id string) error {
	j, err := t.releaseByID(id)
	if err != nil {
		return err
	}
	j.stop()
	_, err = j.wait(ctx)
	return err
}

// Close stops all jobs, invalidates their IDs and returns when all their processes are dead.
func (t *Table) Close() {
	for _, j := range t.markClosed() {
		j.stop()
	}
	t.goroutines.Wait()
}

func (t *Table) markClosed() (all []*job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for id, j := range t.jobs {
		all = append(all, j)
		t.forget(id, j)
	}
	return all
}

func (t *Table) releaseByID(id string) (*job, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := t.jobs[id]
	if j == nil || j.released {
		return nil, ErrUnknownJob
	}
	t.forget(id, j)
	return j, nil
}

// forget removes a job from the table, or marks it to be removed when it ends.
func (t *Table) forget(id string, j *job) {
	j.released = true
	if j.ended {
		delete(t.jobs, id)
	}
}

func (t *Table) markEnded(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := t.jobs[id]
	j.ended = true
	if j.released {
		delete(t.jobs, id)
	}
}

func (t *Table) find(id string) (*job, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j := t.jobs[id]; j != nil && !j.released {
		return j, nil
	}
	return nil, ErrUnknownJob
}
