package sqlite

import (
	"context"
	"fmt"
	"sync"

	"nanobot/internal/batch"
	"nanobot/internal/dbfile"
)

// maxBatch bounds the callers that share one transaction, and thus the wait of the first one.
const maxBatch = 256

// job is one caller's change. It may run twice; the first run is then rolled back.
type job struct {
	do  func(*tx)
	err error
}

// run runs the job. A panic fails this job only.
func (j *job) run(t *tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	t.err = nil
	j.do(t)
	return t.err
}

// writer carries out changes one after the other on its own connection, with group commit: jobs
// that arrive while the disk confirms a transaction share the next one.
type writer struct {
	tx    *tx
	queue *batch.Queue[*job]
	files *dbfile.Files // files that must still be in place for a commit to count
	// logBusy says that somebody has read the log when it was to be truncated.
	logBusy bool

	// One goroutine makes all transactions. SQLite needs a deep stack, and growing the stack of
	// each caller would cost a fifteenth of a turn.
	batches chan []*job
	done    chan struct{}
	work    sync.WaitGroup
}

func newWriter(c *conn) *writer {
	w := &writer{tx: &tx{conn: c}, batches: make(chan []*job), done: make(chan struct{})}
	w.queue = batch.New(maxBatch, func(jobs []*job) {
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

// close waits until all submitted jobs are done. Later jobs are refused.
func (w *writer) close() {
	w.queue.Close()
	close(w.batches)
	w.work.Wait()
}

// submit returns when a change is on disk. After the change has started, the result is the actual
// one, even if ctx has ended.
func (w *writer) submit(ctx context.Context, do func(*tx)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{do: do}
	if !w.queue.Do(j) {
		return ErrClosed
	}
	return j.err
}

// commit carries out jobs in one transaction. A job that fails does not affect the others; if the
// transaction fails, all of them fail.
func (w *writer) commit(jobs []*job) {
	err := w.commitTogether(jobs)
	w.truncateLog()
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
	err := w.inTransaction(func() error {
		for _, j := range jobs {
			if err := j.run(w.tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && len(jobs) > 1 {
		err = w.commitSeparately(jobs)
	}
	if err != nil {
		return err
	}
	// A commit into files that were removed or replaced is lost, so it is not confirmed. If the
	// files cannot be checked at the moment, the commit counts.
	_ = w.files.Check()
	return w.files.Err()
}

// commitSeparately repeats jobs of which one has failed, each behind a savepoint. Savepoints cost
// time, so they are used only after a failure.
func (w *writer) commitSeparately(jobs []*job) error {
	return w.inTransaction(func() error {
		for _, j := range jobs {
			if err := w.exec("SAVEPOINT job"); err != nil {
				return err
			}
			if j.err = j.run(w.tx); j.err != nil {
				// A full disk ends the whole transaction, and the savepoint with it.
				if err := w.exec("ROLLBACK TO job"); err != nil {
					return j.err
				}
			}
			if err := w.exec("RELEASE job"); err != nil {
				return err
			}
		}
		return nil
	})
}

// inTransaction calls do in a transaction.
func (w *writer) inTransaction(do func() error) error {
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := do(); err != nil {
		return w.rollback(err)
	}
	if err := w.exec("COMMIT"); err != nil {
		return w.rollback(fmt.Errorf("commit: %w", err))
	}
	return nil
}

func (w *writer) exec(query string) error {
	_, err := w.tx.conn.exec(query)
	return err
}

// rollback ends a transaction, which SQLite may have ended already.
func (w *writer) rollback(cause error) error {
	_ = w.exec("ROLLBACK")
	return cause
}
