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
	// vouchedFor is how long after a successful call its network is taken to work, and between two
	// of them.
	vouchedFor = time.Minute
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
	succeeded map[string]success // by channel
	failing   map[int64]failing  // by delivery
	closed    map[channels.Chat]closedChat
}

// success is the last successful call of a channel, and for how long its network has worked until
// then.
type success struct {
	at     time.Time
	worked time.Duration
}

// workedUntil returns for how long the network has worked, without its outages.
func (s success) workedUntil(now time.Time) time.Duration {
	return s.worked + min(now.Sub(s.at), vouchedFor)
}

// failing are the failed tries of a delivery: the last one, and for how long the network had worked
// at the first.
type failing struct {
	last   time.Time
	worked time.Duration
}

// closedChat is a chat that accepts nothing, as the error says.
type closedChat struct {
	err error
	at  time.Time
}

func newReach() *reach {
	return &reach{
		succeeded: map[string]success{}, failing: map[int64]failing{}, closed: map[channels.Chat]closedChat{},
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
		now := time.Now()
		r.succeeded[chat.Channel] = success{now, r.succeeded[chat.Channel].workedUntil(now)}
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
// failed for stuckAfter while other calls succeeded, and returns the time until then; 0: the whole
// network may be down, as no call has succeeded since the last try.
func (r *reach) countFailure(delivery store.Delivery) (stuck bool, left time.Duration) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	other := r.succeeded[delivery.Out.Chat.Channel]
	worked := other.workedUntil(now)
	f, again := r.failing[delivery.ID]
	works := again && other.at.After(f.last)
	if !again {
		f.worked = worked
	}
	f.last = now
	r.failing[delivery.ID] = f
	if !works {
		return false, 0
	}
	left = stuckAfter - (worked - f.worked)
	return left <= 0, left
}

// forgetFailures is called when a delivery is settled.
func (r *reach) forgetFailures(delivery int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failing, delivery)
}
