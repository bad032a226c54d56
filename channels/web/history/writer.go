package history

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"nanobot/internal/batch"
	"nanobot/internal/dbfile"
)

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("the web history is closed")

// maxGroup is how many changes share one transaction at most. It bounds the wait of the first
// caller.
const maxGroup = 128

// refusal is an error of the caller that was found before anything was written. It does not roll
// back the transaction.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// change is the change of one caller.
type change struct {
	apply func(*sql.Tx) (*Event, error) // returns the new event, if any
	event *Event
	err   error
}

// writer implements group commit: changes that arrive during a commit share the next one.
type writer struct {
	db      *sql.DB
	path    string // of the database; "": it is on a server
	publish func([]Event)
	queue   *batch.Queue[*change]
	watch   *dbfile.Watch // a commit counts only if the watched files are still in place
	// erased says that something was removed that the log may still contain, and logBusy that
	// somebody has read the log when it was to be truncated. Only a commit changes them.
	erased, logBusy bool
}

func newWriter(db *sql.DB, limit int, publish func([]Event)) *writer {
	w := &writer{db: db, publish: publish}
	w.queue = batch.New(limit, w.commitGroup)
	return w
}

// submit returns when a change is on disk. Once the change has started, the result is the real
// outcome, even if ctx has ended.
func (w *writer) submit(ctx context.Context, do func(*sql.Tx) (*Event, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &change{apply: do}
	if !w.queue.Do(c) {
		return ErrClosed
	}
	return c.err
}

// commitGroup commits changes and publishes the new events.
func (w *writer) commitGroup(changes []*change) {
	err := w.watch.Err()
	if err == nil {
		err = w.watch.FailIfDamaged(w.path, w.commit(changes))
	}
	w.truncateLog()
	if err == nil { // a commit to files that were removed or replaced meanwhile is lost, so it is not confirmed
		err = w.watch.Check()
	}
	if err != nil {
		for _, c := range changes {
			c.err, c.event = err, nil
		}
	}
	var events []Event
	for _, c := range changes {
		if c.event != nil {
			events = append(events, *c.event)
		}
	}
	if len(events) > 0 {
		w.publish(events)
	}
}

// truncateLog removes what was erased from the write-ahead log. While somebody reads the database,
// it is tried again after the next commit.
func (w *writer) truncateLog() {
	if !w.erased || w.path == "" {
		return
	}
	conn, err := w.db.Conn(context.Background())
	if err != nil {
		return
	}
	_ = conn.Raw(func(raw any) error {
		w.logBusy = !dbfile.TruncateLog(raw.(driver.Conn), w.logBusy)
		w.erased = w.logBusy
		return nil
	})
	_ = conn.Close()
}

// commit applies changes in one transaction: all of them except refused ones, or none.
func (w *writer) commit(changes []*change) error {
	tx, err := w.db.Begin()
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	for _, c := range changes {
		c.event, c.err = c.apply(tx)
		var no refusal
		if errors.As(c.err, &no) {
			c.event, c.err = nil, no.error
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
