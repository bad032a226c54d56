package sqlite

import (
	"context"
	"fmt"
	"sync"

	"nanobot/internal/batch"
	"nanobot/internal/dbfile"
)

// together is how many callers share one transaction at most, which bounds how long the first of
// them waits.
const together = 256

// job is one caller's change. It may be done twice, of which the first time is undone.
type job struct {
	do  func(*tx) error
	err error
}

// try does the job. A panic is its failure alone: whoever leads has nothing to do with it.
func (j *job) try(t *tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return j.do(t)
}

// writer carries out changes one after the other on its own connection. While the disk confirms a
// transaction the next jobs gather, and go together.
type writer struct {
	tx    *tx
	queue *batch.Queue[*job]
	files *dbfile.Files // what must still be in its place for a commit to count

	// Transactions are made by one goroutine. SQLite needs a deep stack, and to grow the one of
	// each caller would cost a fifteenth of a turn.
	batches chan []*job
	done    chan struct{}
	work    sync.WaitGroup
}

func newWriter(t *tx) *writer {
	w := &writer{tx: t, batches: make(chan []*job), done: make(chan struct{})}
	w.queue = batch.New(together, func(jobs []*job) {
		w.batches <- jobs
		<-w.done
	})
	w.work.Go(func() {
		for jobs := range w.batches {
			w.commit(jobs)
			w.done <- struct{}{}
		}
	})
	return w
}

// close returns when what was submitted is done. What is submitted later is refused.
func (w *writer) close() {
	w.queue.Close()
	close(w.batches)
	w.work.Wait()
}

// submit returns when a change is on disk. Once it is begun, the answer is what really happened,
// even if ctx has ended.
func (w *writer) submit(ctx context.Context, do func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{do: do}
	if !w.queue.Do(j) {
		return ErrClosed
	}
	return j.err
}

// commit carries out jobs in one transaction. A job that fails by itself leaves the others alone;
// when the transaction fails, none of them happened.
func (w *writer) commit(jobs []*job) {
	err := w.commitTogether(jobs)
	for _, j := range jobs {
		if j.err == nil {
			j.err = err
		}
	}
}

func (w *writer) commitTogether(jobs []*job) error {
	if err := w.files.Err(); err != nil {
		return err
	}
	err := w.transact(func() error {
		for _, j := range jobs {
			if err := j.try(w.tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && len(jobs) > 1 {
		err = w.apart(jobs)
	}
	if err != nil {
		return err
	}
	// What went into files that were removed or replaced meanwhile nobody finds again, so it is not
	// confirmed. That the files cannot be looked at for a moment says nothing: it is stored.
	_ = w.files.Check()
	return w.files.Err()
}

// apart does jobs again of which one failed, each behind a savepoint. That costs more, so it is not
// done for a mistake that hardly ever happens.
func (w *writer) apart(jobs []*job) error {
	return w.transact(func() error {
		for _, j := range jobs {
			if err := w.tx.exec("SAVEPOINT job"); err != nil {
				return err
			}
			if j.err = j.try(w.tx); j.err != nil {
				// A full disk ends the whole transaction, and the savepoint with it.
				if err := w.tx.exec("ROLLBACK TO job"); err != nil {
					return j.err
				}
			}
			if err := w.tx.exec("RELEASE job"); err != nil {
				return err
			}
		}
		return nil
	})
}

// transact does something in a transaction.
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
