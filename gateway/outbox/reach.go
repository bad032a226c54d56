package outbox

import (
	"errors"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

const (
	// stuckAfter is how long a network may fail to carry out a delivery while it carries out other
	// calls. The delivery is then set aside, so that the next ones are sent.
	stuckAfter = 3 * time.Minute
	// closedFor is how long nothing is sent to a chat that accepts nothing, unless somebody writes
	// there: a bot that was removed from a group may be back.
	closedFor = time.Hour
	// maxClosed bounds the closed chats that are remembered. Forgetting one costs a call.
	maxClosed = 4096
)

// reach records what the calls of this run say about the networks: whether a network works, which
// deliveries it fails to carry out, and which chats accept nothing.
type reach struct {
	mu        sync.Mutex
	succeeded map[string]time.Time // the last successful call, by channel
	failing   map[int64]failing    // by delivery
	closed    map[channels.Chat]closedChat
}

// failing are the failed tries of a delivery. since is the first one after another call of the
// channel had succeeded; zero: the whole network may be down.
type failing struct{ since, last time.Time }

// closedChat is a chat that accepts nothing, as the error says.
type closedChat struct {
	err error
	at  time.Time
}

func newReach() *reach {
	return &reach{
		succeeded: map[string]time.Time{}, failing: map[int64]failing{}, closed: map[channels.Chat]closedChat{},
	}
}

// Call makes a network call about a chat, unless the chat accepts nothing: then it returns the
// error that has said so.
func (r *reach) Call(chat channels.Chat, call func() error) error {
	if err := r.closedBy(chat); err != nil {
		return err
	}
	err := call()
	var se *channels.SendError
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.succeeded[chat.Channel] = time.Now()
	case errors.As(err, &se) && se.Closed:
		if len(r.closed) >= maxClosed {
			clear(r.closed)
		}
		r.closed[chat] = closedChat{err, time.Now()}
	}
	return err
}

// closedBy returns the error that says that a chat accepts nothing; nil: it may accept messages.
func (r *reach) closedBy(chat channels.Chat) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	closed, ok := r.closed[chat]
	if ok && time.Since(closed.at) > closedFor {
		delete(r.closed, chat)
		return nil
	}
	return closed.err
}

// Reopen is called when somebody has written in a chat, which may accept messages again.
func (r *reach) Reopen(chat channels.Chat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.closed, chat)
}

// countFailure records that a network has failed to carry out a delivery. It reports whether it has
// failed for stuckAfter, and returns the time until then; 0: the whole network may be down.
func (r *reach) countFailure(delivery store.Delivery) (stuck bool, left time.Duration) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.failing[delivery.ID]
	if f.since.IsZero() && !f.last.IsZero() && r.succeeded[delivery.Out.Chat.Channel].After(f.last) {
		f.since = now
	}
	f.last = now
	r.failing[delivery.ID] = f
	if f.since.IsZero() {
		return false, 0
	}
	left = stuckAfter - now.Sub(f.since)
	return left <= 0, left
}

// forgetFailures is called when a delivery is settled.
func (r *reach) forgetFailures(delivery int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failing, delivery)
}
