package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ErrClosed is what is answered once the history is closed.
var ErrClosed = errors.New("the web history is closed")

// batch is how many callers share one transaction at most, which bounds how long the first of them waits.
const batch = 128

// refusal is a caller's mistake, found before anything was written: it leaves the transaction alone.
type refusal struct{ error }

// change is what one caller asks for.
type change struct {
	do    func(*sql.Tx) (*Event, error) // the event that comes of it, if any
	event *Event
	err   error
	turn  chan bool // true: it is done; false: its caller is to lead
}

// writer carries out changes in the goroutine of one of those who ask. While the disk confirms a transaction the next changes gather and go
// together.
type writer struct {
	db        *sql.DB
	published func(Event)

	mu      sync.Mutex
	waiting []*change
	leading bool
	closed  bool
	idle    *sync.Cond
}

func newWriter(db *sql.DB, published func(Event)) *writer {
	w := &writer{db: db, published: published}
	if published == nil {
		w.published = func(Event) {}
	}
	w.idle = sync.NewCond(&w.mu)
	return w
}

// submit returns when a change is on disk. Once it is begun, the answer is what really happened, even if ctx has ended.
func (w *writer) submit(ctx context.Context, do func(*sql.Tx) (*Event, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &change{do: do}
	lead, err := w.join(c)
	if err != nil {
		return err
	}
	if lead || !<-c.turn {
		w.lead()
	}
	return c.err
}

// join puts a change in line and says whether its caller is to lead.
func (w *writer) join(c *change) (lead bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false, ErrClosed
	}
	w.waiting = append(w.waiting, c)
	if w.leading {
		c.turn = make(chan bool, 1)
		return false, nil
	}
	w.leading = true
	return true, nil
}

// lead does what waits, its own change first, and lets one of those lead who came meanwhile.
func (w *writer) lead() {
	w.mu.Lock()
	n := min(len(w.waiting), batch)
	changes := slices.Clone(w.waiting[:n])
	w.waiting = slices.Delete(w.waiting, 0, n)
	w.mu.Unlock()
	if err := w.commit(changes); err != nil {
		for _, c := range changes {
			c.err, c.event = err, nil
		}
	}
	for _, c := range changes {
		if c.event != nil {
			w.published(*c.event)
		}
	}
	for _, c := range changes[1:] {
		c.turn <- true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) > 0 {
		w.waiting[0].turn <- false
		return
	}
	w.leading = false
	w.idle.Broadcast()
}

// commit carries out changes in one transaction: all of them, but for those that are refused, or none.
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

// close returns when what was handed over is done. What comes later is refused.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for w.leading {
		w.idle.Wait()
	}
}
