// Package jobs runs commands in the background for a session that asks for their output now and
// then: with an id each, the last part of what they print, limits, and nothing left running at the
// end. What a command leaves in the background ends with it. It knows nothing of who asks, or by
// what protocol.
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

// ErrUnknown says that there is no job of this id in the table, or no longer.
var ErrUnknown = errors.New("unknown id: no such command in this session, or it was released")

const (
	defaultOutput = 1 << 20
	defaultGrace  = 3 * time.Second
	// silence is how long a process that a command left behind may hold its output in silence after
	// the command's end, and chatter how long it is heard out if it goes on writing.
	silence, chatter = 200 * time.Millisecond, time.Second
)

// Limits bound what one session may use.
type Limits struct {
	Jobs   int           // not released, of which the oldest that has ended makes room for a new one; 0: any number
	Wall   time.Duration // how long a job may run; 0: for ever
	Output int           // bytes of a job's output that are kept, at most and by default; 0: 1 MiB
	Memory int64         // bytes of data that each process of a job may have; 0: any number
	Grace  time.Duration // between SIGTERM and SIGKILL; 0: 3 s
}

// Options says where and how a session's commands run.
type Options struct {
	Limits Limits
	Dir    string   // where commands run that name no folder; an absolute path
	Roots  []string // within these and Dir are the folders that may be named
	Shell  string   // for command lines; "": /bin/sh
	// Confine, if not nil, puts each command under limits and into a sandbox.
	Confine func(process.Options) process.Options
}

// Command says what to run.
type Command struct {
	// Line is a program, by name or path. Without Args it may also be a line for the shell.
	Line string
	Args []string // passed as they are
	Dir  string   // an absolute path; "": the session's
	Env  []string // all of it: nothing is inherited
	Keep *int     // bytes of output to keep; nil: the limit
}

// Exit says how a command ended: Code or Signal is set, the other is nil.
type Exit struct {
	Code     *int
	Signal   *string // such as SIGTERM
	TimedOut bool    // it had run for Limits.Wall and was told to end
}

// Output is what a job has printed so far, stdout and stderr together, as valid UTF-8.
type Output struct {
	Text      string
	Truncated bool  // the beginning is missing
	Exit      *Exit // nil while it runs
}

// Table holds the jobs of one session. All its methods may be called from any goroutine.
type Table struct {
	o    Options
	runs sync.WaitGroup

	mu     sync.Mutex
	jobs   map[string]*job // a released one stays until it is dead
	begun  int             // jobs so far
	closed bool
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

// Create starts a command and returns its id at once. An error means that nothing was started.
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
		return "", fmt.Errorf("run %q: this session has %d commands that run, which is the limit; release one first", c.Line, len(t.jobs))
	}
	if t.o.Confine != nil {
		o = t.o.Confine(o)
	}
	child, err := process.Start(o)
	if err != nil {
		return "", fmt.Errorf("run %q: %w", c.Line, err)
	}
	id = "term_" + rand.Text()
	j := newJob(child, t.o.keep(c), t.o.Limits.Grace)
	t.begun++
	j.number = t.begun
	t.jobs[id] = j
	t.runs.Go(func() {
		j.run(t.o.Limits.Wall)
		t.ended(id)
		close(j.done)
	})
	return id, nil
}

// makeRoom says whether one more job may be there, for which the oldest that has ended is forgotten
// if need be: not every session releases what it does not need any more. The caller holds mu.
func (t *Table) makeRoom() bool {
	if t.o.Limits.Jobs <= 0 || len(t.jobs) < t.o.Limits.Jobs {
		return true
	}
	oldest := ""
	for id, j := range t.jobs {
		if j.ended && (oldest == "" || j.number < t.jobs[oldest].number) {
			oldest = id
		}
	}
	if oldest == "" {
		return false
	}
	t.drop(oldest, t.jobs[oldest])
	return true
}

// Output returns what a job has printed so far, and how it ended once it has.
func (t *Table) Output(id string) (Output, error) {
	j, err := t.find(id)
	if err != nil {
		return Output{}, err
	}
	return j.output(), nil
}

// Wait returns when a job has ended and all that it printed can be had from Output. If ctx ends
// first, the job goes on.
func (t *Table) Wait(ctx context.Context, id string) (Exit, error) {
	j, err := t.find(id)
	if err != nil {
		return Exit{}, err
	}
	return j.wait(ctx)
}

// Kill ends a job and returns when it has ended, or with ctx, after which the job still ends. It
// may be called again, and leaves the id valid.
func (t *Table) Kill(ctx context.Context, id string) error {
	j, err := t.find(id)
	if err != nil {
		return err
	}
	j.stop()
	_, err = j.wait(ctx)
	return err
}

// KillAll ends all jobs, leaves their ids valid and returns how many of them still ran. It does not
// wait until they are dead.
func (t *Table) KillAll() (ran int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range t.jobs {
		if !j.ended && !j.released {
			ran++
			j.stop()
		}
	}
	return ran
}

// Release makes the id unknown, ends the job and returns when it has ended, or with ctx, after
// which the job still ends. Whoever waits for the job is told how it ended.
func (t *Table) Release(ctx context.Context, id string) error {
	j, err := t.release(id)
	if err != nil {
		return err
	}
	j.stop()
	_, err = j.wait(ctx)
	return err
}

// Close ends all jobs and returns when every process of theirs is dead. No id is known any more.
func (t *Table) Close() {
	for _, j := range t.close() {
		j.stop()
	}
	t.runs.Wait()
}

func (t *Table) close() (all []*job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for id, j := range t.jobs {
		all = append(all, j)
		t.drop(id, j)
	}
	return all
}

func (t *Table) release(id string) (*job, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := t.jobs[id]
	if j == nil || j.released {
		return nil, ErrUnknown
	}
	t.drop(id, j)
	return j, nil
}

// drop forgets a job, if it still runs as soon as it has ended.
func (t *Table) drop(id string, j *job) {
	j.released = true
	if j.ended {
		delete(t.jobs, id)
	}
}

func (t *Table) ended(id string) {
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
	return nil, ErrUnknown
}
