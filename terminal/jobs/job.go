package jobs

import (
	"context"
	"sync"
	"time"

	"nanobot/terminal/process"
)

// job is one command that runs or has run.
type job struct {
	child *process.Child
	grace time.Duration
	keep  int           // bytes of output
	done  chan struct{} // closed when the job has ended

	mu   sync.Mutex
	tail *process.Bounded
	exit *Exit

	sequence        int // order of creation; guarded by the table's mutex, as are the next two
	released, ended bool
}

func newJob(child *process.Child, keep int, grace time.Duration) *job {
	return &job{child: child, grace: grace, keep: keep, done: make(chan struct{}), tail: newTail(keep)}
}

// readUntilExit reads the command's output until its exit. The exit is published only after the
// whole output is stored.
func (j *job) readUntilExit(maxRuntime time.Duration) {
	if maxRuntime > 0 {
		defer process.NewStopwatch(maxRuntime, j.stop).Stop()
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := j.child.Stdout.Read(buf)
		j.appendOutput(buf[:n])
		if err != nil { // any error means the end of the pipe
			break
		}
	}
	end := j.child.Wait()
	exit := &Exit{Code: &end.Code}
	if end.Signal != "" {
		exit.Code, exit.Signal = nil, &end.Signal
	}
	j.mu.Lock()
	j.exit = exit
	j.mu.Unlock()
}

func (j *job) appendOutput(p []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, _ = j.tail.Write(p)
}

func (j *job) stop() { j.child.Stop(j.grace) }

func (j *job) output() Output {
	j.mu.Lock()
	kept, dropped, exit := j.tail.Tail(), j.tail.Omitted() > 0, j.exit
	j.mu.Unlock()
	o := Output{Exit: exit}
	o.Text, o.Truncated = decodeTail(kept, j.keep, dropped, exit != nil)
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
