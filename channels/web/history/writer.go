package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"nanobot/internal/batch"
	"nanobot/internal/dbfile"
)

// ErrClosed is what is answered once the history is closed.
var ErrClosed = errors.New("the web history is closed")

// together is how many callers share one transaction at most, which bounds how long the first of
// them waits.
const together = 128

// refusal is a caller's mistake, found before anything was written: it leaves the transaction
// alone.
type refusal struct{ error }

// change is what one caller asks for.
type change struct {
	do    func(*sql.Tx) (*Event, error) // the event that comes of it, if any
	event *Event
	err   error
}

// writer carries out changes. While the disk confirms a transaction the next changes gather and go
// together.
type writer struct {
	db        *sql.DB
	published func(Event)
	queue     *batch.Queue[*change]
	watch     *dbfile.Watch // follows what must still be in its place for a commit to count
	judge     func(error) error
}

func newWriter(db *sql.DB, published func(Event)) *writer {
	w := &writer{db: db, published: published}
	if published == nil {
		w.published = func(Event) {}
	}
	w.queue = batch.New(together, w.do)
	return w
}

// submit returns when a change is on disk. Once it is begun, the answer is what really happened,
// even if ctx has ended.
func (w *writer) submit(ctx context.Context, do func(*sql.Tx) (*Event, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &change{do: do}
	if !w.queue.Do(c) {
		return ErrClosed
	}
	return c.err
}

// do carries out changes and tells of what came of them.
func (w *writer) do(changes []*change) {
	err := w.watch.Err()
	if err == nil {
		err = w.judge(w.commit(changes))
	}
	if err == nil { // what went into files that were removed or replaced meanwhile nobody finds again, so it is not confirmed
		err = w.watch.Check()
	}
	if err != nil {
		for _, c := range changes {
			c.err, c.event = err, nil
		}
	}
	for _, c := range changes {
		if c.event != nil {
			w.published(*c.event)
		}
	}
}

// commit carries out changes in one transaction: all of them, but for those that are refused, or
// none.
func (w *writer) commit(changes []*change) error {
	tx, err := w.db.Begin()
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	for _, c := range changes {
		c.event, c.err = c.do(tx)
		var no refusal
		if errors.As(c.err, &no) {
			c.err = no.error
		} else if c.err != nil {
			return errors.Join(c.err, tx.Rollback())
		}
	}
	if err := tx.Commit(); err != nil {
		_ = tx.Rollback()
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
