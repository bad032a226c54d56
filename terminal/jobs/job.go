package jobs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"nanobot/terminal/process"
)

// job is one command that runs or has run.
type job struct {
	child *process.Child
	grace time.Duration
	late  atomic.Bool
	done  chan struct{} // closed when run has returned

	mu   sync.Mutex
	tail *tail
	exit *Exit

	number          int // in the order of their beginning; the table's, as are these
	released, ended bool
}

func newJob(child *process.Child, keep int, grace time.Duration) *job {
	return &job{child: child, grace: grace, done: make(chan struct{}), tail: newTail(keep)}
}

// run reads what the command prints until it has ended. The end is told only after that, so that
// nobody who knows of it misses output.
func (j *job) run(wall time.Duration) {
	if wall > 0 {
		defer process.NewStopwatch(wall, func() {
			j.late.Store(true)
			j.stop()
		}).Stop()
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := j.child.Stdout.Read(buf)
		j.print(buf[:n])
		if err != nil { // its end: a pipe knows no other
			break
		}
	}
	end := j.child.Wait()
	exit := &Exit{Code: &end.Code, TimedOut: j.late.Load() && end.Forced}
	if end.Signal != "" {
		exit.Code, exit.Signal = nil, &end.Signal
	}
	j.mu.Lock()
	j.tail.ended, j.exit = true, exit
	j.mu.Unlock()
}

func (j *job) print(p []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tail.write(p)
}

func (j *job) stop() { j.child.Stop(j.grace) }

func (j *job) output() Output {
	j.mu.Lock()
	text, exit := j.tail.copy(), j.exit
	j.mu.Unlock()
	o := Output{Exit: exit}
	o.Text, o.Truncated = text.string()
	return o
}

func (j *job) wait(ctx context.Context) (Exit, error) {
	select {
	case <-j.done:
		return *j.exit, nil
	default:
	}
	select {
	case <-j.done:
		return *j.exit, nil
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}
