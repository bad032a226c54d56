package sqlite

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// batch is how many callers share one transaction at most, which bounds how long the first of them waits.
const batch = 256

// job is one caller's change, and where its answer goes. It may be done twice, of which the first time is undone.
type job struct {
	do  func(*tx) error
	err chan error
}

// writer carries out changes one after the other on its own connection. While the disk confirms one transaction the next
// jobs gather, and go together.
type writer struct {
	tx *tx

	mu     sync.RWMutex // held for reading while a job is handed over
	closed bool
	jobs   chan *job
}

func newWriter(t *tx) *writer { return &writer{tx: t, jobs: make(chan *job, batch)} }

// submit hands a change over and waits until it is on disk. Once it is handed over, the answer is what really happened, even
// if ctx has ended.
func (w *writer) submit(ctx context.Context, do func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{do: do, err: make(chan error, 1)}
	if err := w.hand(ctx, j); err != nil {
		return err
	}
	return <-j.err
}

func (w *writer) hand(ctx context.Context, j *job) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return ErrClosed
	}
	select {
	case w.jobs <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close lets run return once it has done what was handed over.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		close(w.jobs)
	}
}

func (w *writer) run() {
	waiting := make([]*job, 0, batch)
	for j := range w.jobs {
		waiting = w.gather(append(waiting[:0], j))
		answers := w.commit(waiting)
		for i, j := range waiting {
			j.err <- answers[i]
		}
		clear(waiting)
	}
}

// gather takes what waits. Callers who were just answered often come right back, so it lets them run before it looks again.
func (w *writer) gather(waiting []*job) []*job {
	for len(waiting) < batch {
		runtime.Gosched()
		before := len(waiting)
		waiting = w.drain(waiting)
		if len(waiting) == before {
			break
		}
	}
	return waiting
}

func (w *writer) drain(waiting []*job) []*job {
	for len(waiting) < batch {
		select {
		case j, ok := <-w.jobs:
			if !ok {
				return waiting
			}
			waiting = append(waiting, j)
		default:
			return waiting
		}
	}
	return waiting
}

// commit carries out jobs in one transaction. A job that fails by itself leaves the others alone; when the transaction fails,
// none of them happened.
func (w *writer) commit(jobs []*job) []error {
	answers := make([]error, len(jobs))
	err := w.transact(func() error {
		for _, j := range jobs {
			if err := j.do(w.tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && len(jobs) > 1 {
		err = w.apart(jobs, answers)
	}
	for i := range answers {
		if answers[i] == nil {
			answers[i] = err
		}
	}
	return answers
}

// apart does jobs again of which one failed, each behind a savepoint. That costs more, so it is not done for a mistake that
// hardly ever happens.
func (w *writer) apart(jobs []*job, answers []error) error {
	return w.transact(func() error {
		for i, j := range jobs {
			if err := w.tx.exec("SAVEPOINT job"); err != nil {
				return err
			}
			if answers[i] = j.do(w.tx); answers[i] != nil {
				// A full disk ends the whole transaction, and the savepoint with it.
				if err := w.tx.exec("ROLLBACK TO job"); err != nil {
					return answers[i]
				}
			}
			if err := w.tx.exec("RELEASE job"); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *writer) transact(do func() error) error {
	if err := w.tx.exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := do(); err != nil {
		return w.rollback(err)
	}
	if err := w.tx.exec("COMMIT"); err != nil {
		return w.rollback(fmt.Errorf("commit: %w", err))
	}
	return nil
}

// rollback ends a transaction, which SQLite may have done already.
func (w *writer) rollback(cause error) error {
	_ = w.tx.exec("ROLLBACK")
	return cause
}
