package postgres

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"nanobot/gateway/store"
)

// cursorDelay is how long a cursor may lag behind its message. If it were stored in the transaction
// of the message, all messages of a channel would wait for each other.
const cursorDelay = 200 * time.Millisecond

// cursors are the cursors of channels that are not stored yet.
type cursors struct {
	mu      sync.Mutex
	values  map[string]string // by channel
	storing bool              // a goroutine stores them
	work    sync.WaitGroup
	closing chan struct{} // closed by Close

	flushing sync.Mutex // held while values are stored, so that they are stored in order
}

// Cursor returns the cursor of a channel. A stored one is read, because another member may have
// moved it.
func (s inbox) Cursor(ctx context.Context, channel string) (string, error) {
	s.cursors.mu.Lock()
	value := s.cursors.values[channel]
	s.cursors.mu.Unlock()
	if value != "" {
		return value, nil
	}
	return readValue[string](ctx, s.state, "read the cursor of "+channel,
		"SELECT to_json(value) FROM cursor WHERE channel = $1", channel)
}

// SetCursor moves the cursor of a channel.
func (s inbox) SetCursor(_ context.Context, channel, cursor string) error {
	s.moveCursor(channel, cursor)
	return nil
}

// moveCursor has a cursor, if there is one, stored soon. It is called when its message is stored.
func (s *state) moveCursor(channel, cursor string) {
	if cursor == "" {
		return
	}
	c := &s.cursors
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values[channel] = cursor
	if !c.storing {
		c.storing = true
		c.work.Go(s.storeCursors)
	}
}

// storeCursors stores the cursors until all are stored, or the member is gone.
func (s *state) storeCursors() {
	c := &s.cursors
	for storing := true; storing; {
		closing := false
		select {
		case <-time.After(cursorDelay):
		case <-c.closing:
			closing = true
		}
		err := s.flushCursors(context.Background())
		c.mu.Lock()
		c.storing = len(c.values) > 0 && !closing && !errors.Is(err, store.ErrState)
		storing = c.storing
		c.mu.Unlock()
	}
}

// flushCursors stores the cursors now. A leader calls it before it resigns: later, its cursors
// would replace those of the next leader.
func (s *state) flushCursors(ctx context.Context) error {
	c := &s.cursors
	c.flushing.Lock()
	defer c.flushing.Unlock()
	c.mu.Lock()
	values := maps.Clone(c.values)
	c.mu.Unlock()
	if len(values) == 0 {
		return nil
	}
	err := s.change(ctx, changeRequest{what: "move cursors", function: "set_cursors", args: values}, nil)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		maps.DeleteFunc(c.values, func(channel, value string) bool { return values[channel] == value })
	}
	return err
}
