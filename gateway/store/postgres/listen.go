package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// hintPause is the least time between two hints of a member. A hint stands for all changes before.
const hintPause = 100 * time.Millisecond

// hint tells other members soon that something has changed, if there are any.
func (s *state) hint() {
	if s.alone.Load() {
		return
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// tellChanges sends the hints of this member. They are sent outside of the changes, because a
// transaction with a NOTIFY waits for all others that have one.
func (s *state) tellChanges(ctx context.Context) {
	for {
		select {
		case <-s.changed:
		case <-ctx.Done():
			return
		}
		_ = s.read(ctx, s.notify) // otherwise the next beats find the change
		if !pause(ctx, hintPause) {
			return
		}
	}
}

func (s *state) notify(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, "SELECT pg_notify($1, $2)", s.schema, s.member)
	return err
}

// listen receives the hints of other members on a connection of its own, until ctx ends.
func (s *state) listen(ctx context.Context) {
	for {
		_ = s.receiveHints(ctx) // the beats find what gets lost
		if !pause(ctx, s.attempt) {
			return
		}
	}
}

// receiveHints receives hints until the connection is lost.
func (s *state) receiveHints(ctx context.Context) error {
	c, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.attempt)
		defer cancel()
		_ = c.Close(end)
	}()
	if _, err := c.Exec(ctx, "LISTEN "+pgx.Identifier{s.schema}.Sanitize()); err != nil {
		return err
	}
	for from := ""; ; {
		if from != s.member { // the first one is for the hints before LISTEN
			select {
			case s.hints <- struct{}{}:
			default:
			}
		}
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		from = n.Payload
	}
}

// pause waits, and reports false if ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
