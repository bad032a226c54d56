package outbox

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/gateway/retry"
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

// networkState records what the calls of this run say about the networks: whether a network works,
// which deliveries it fails to carry out, and which chats accept nothing.
type networkState struct {
	mu        sync.Mutex
	succeeded map[string]success // by channel
	failing   map[int64]failing  // by delivery
	closed    map[channels.Chat]closedChat
	channels  map[string]channels.Channel
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

func newNetworkState(all map[string]channels.Channel) *networkState {
	return &networkState{
		channels:  all,
		succeeded: map[string]success{}, failing: map[int64]failing{}, closed: map[channels.Chat]closedChat{},
	}
}

// call makes a network call about a chat, unless the chat accepts nothing: then it returns the
// error that has said so.
func (n *networkState) call(chat channels.Chat, call func() error) error {
	if err := n.closedBy(chat); err != nil {
		return err
	}
	err := call()
	if errors.Is(err, errNoCall) {
		return nil
	}
	var se *channels.SendError
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err == nil:
		now := time.Now()
		n.succeeded[chat.Channel] = success{now, n.succeeded[chat.Channel].workedUntil(now)}
	case errors.As(err, &se) && se.Closed:
		if len(n.closed) >= maxClosed {
			clear(n.closed)
		}
		n.closed[n.groupOf(chat)] = closedChat{err, time.Now()}
	}
	return err
}

// groupOf returns the chat that is closed and reopened with a chat: the group of a topic, or the
// chat itself.
func (n *networkState) groupOf(chat channels.Chat) channels.Chat {
	if l, ok := n.channels[chat.Channel].(channels.ChatLocator); ok {
		parent, _, _ := l.LocateChat(chat.ID)
		chat.ID = cmp.Or(parent, chat.ID)
	}
	return chat
}

// errNoCall says that something succeeded without a network call, which says nothing about the
// network.
var errNoCall = errors.New("no call was needed")

// closedBy returns the error that says that a chat accepts nothing; nil: it may accept messages.
func (n *networkState) closedBy(chat channels.Chat) error {
	chat = n.groupOf(chat)
	n.mu.Lock()
	defer n.mu.Unlock()
	closed, ok := n.closed[chat]
	if ok && time.Since(closed.at) > closedFor {
		delete(n.closed, chat)
		return nil
	}
	return closed.err
}

// reopen is called when somebody has written in a chat, which may accept messages again.
func (n *networkState) reopen(chat channels.Chat) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.closed, n.groupOf(chat))
}

// countFailure records that a network has failed to carry out a delivery. It reports whether it has
// failed for stuckAfter while other calls succeeded, and returns the time until then; 0: the whole
// network may be down, as no call has succeeded since the last try.
func (n *networkState) countFailure(delivery store.Delivery) (stuck bool, left time.Duration) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	other := n.succeeded[delivery.Out.Chat.Channel]
	worked := other.workedUntil(now)
	f, again := n.failing[delivery.ID]
	works := again && other.at.After(f.last)
	if !again {
		f.worked = worked
	}
	f.last = now
	n.failing[delivery.ID] = f
	if !works {
		return false, 0
	}
	left = stuckAfter - (worked - f.worked)
	return left <= 0, left
}

// forgetFailures is called when a delivery is settled.
func (n *networkState) forgetFailures(delivery int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.failing, delivery)
}

// tryUntil makes a network call about a chat until it succeeds, is refused permanently or limit has
// passed.
func (n *networkState) tryUntil(ctx context.Context, chat channels.Chat, limit time.Duration,
	call func(ctx context.Context) error,
) error {
	until := time.Now().Add(limit)
	for pause := min(firstBackoff, limit/8); ; pause = min(2*pause, maxRemovePause) {
		if err := ctx.Err(); err != nil {
			return err
		}
		callCtx, cancel := context.WithTimeout(ctx, CallTimeout)
		err := n.call(chat, func() error { return call(callCtx) })
		cancel()
		var se *channels.SendError
		if err == nil || errors.As(err, &se) && se.Permanent {
			return err
		}
		wait := max(RetryAfter(err), pause)
		if time.Now().Add(wait).After(until) || !retry.Sleep(ctx, wait) {
			return err
		}
	}
}
