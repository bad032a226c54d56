package receiving

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"nanobot/channels/telegram/updates"
)

// pendingQueues holds the pending messages of all chats.
type pendingQueues struct {
	timing    Timing
	byWebhook bool // updates are delivered instead of polled
	// start is called when a message becomes pending, with mu locked. isOnly says that no other
	// message of the chat is pending.
	start func(ctx context.Context, q *chatQueue, p *pendingMessage, isOnly bool)

	mu        sync.Mutex
	chats     map[string]*chatQueue
	count     int                     // of the pending messages of all chats
	addressed map[senderKey]time.Time // when people have written a text to the bot in groups; see recordAddressed
	pollStart time.Time               // when the current batch arrived; zero: no batch is being accepted
}

// chatQueue holds the pending messages of one chat. Everything except order is protected by
// pendingQueues.mu.
type chatQueue struct {
	name    string
	order   sync.Mutex // locked while an update is accepted, to keep the order
	users   int        // goroutines that use the queue
	pending []*pendingMessage
	updates map[int64]bool // IDs of the updates of pending
}

// Limits of the pending messages of all chats; beyond them Telegram keeps the updates. In webhook
// mode, texts of chats without pending messages are still received; in poll mode polling stops for
// all chats.
const maxPendingWebhook, maxPendingPoll = 250, 5000

func newPendingQueues(timing Timing, byWebhook bool,
	start func(context.Context, *chatQueue, *pendingMessage, bool),
) *pendingQueues {
	return &pendingQueues{
		timing: timing, byWebhook: byWebhook, start: start, chats: map[string]*chatQueue{},
		addressed: map[senderKey]time.Time{},
	}
}

func (a *pendingQueues) hasPending(q *chatQueue) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(q.pending) > 0
}

// has reports whether a message with the ID of m is pending.
func (a *pendingQueues) has(q *chatQueue, m *updates.Message) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	same := func(other *updates.Message) bool { return other.ID == m.ID }
	return slices.ContainsFunc(q.pending, func(p *pendingMessage) bool { return slices.ContainsFunc(p.messages, same) })
}

// joinOrCreate returns the album that an update belongs to, or a new pending message. It returns
// nil for an update that is pending already.
func (a *pendingQueues) joinOrCreate(q *chatQueue, u *updates.Update, prefix string) (*pendingMessage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q.updates[u.ID] {
		return nil, nil
	}
	last := len(q.pending) - 1
	first := 0
	if u.Message.Album() == "" { // only a part of an album joins a message before the last
		first = max(last, 0)
	}
	for i, p := range q.pending[first:] {
		if p.accepts(u.Message, first+i == last) {
			p.storing++
			return p, nil
		}
	}
	if limit := a.limit(); a.count >= limit {
		a.recheckAlbums()
		return nil, fmt.Errorf("%d messages are pending already", limit)
	}
	a.count++
	if !u.Message.IsEdit {
		q.supersede(u.Message.Sender())
	}
	p := newPendingMessage(prefix + u.PartID())
	p.storing++
	return p, nil
}

func (a *pendingQueues) limit() int {
	if !a.byWebhook {
		return maxPendingPoll
	}
	return maxPendingWebhook
}

// addPart adds a durable update to its pending message. The caller holds pendingQueues.mu.
func (a *pendingQueues) addPart(ctx context.Context, q *chatQueue, p *pendingMessage, u *updates.Update) {
	q.updates[u.ID] = true
	p.updates, p.messages = append(p.updates, u.ID), append(p.messages, u.Message)
	p.lastPartAt, p.awaitsParts, p.deadline = time.Now(), false, time.Time{}
	if len(p.messages) > 1 {
		return
	}
	p.firstPartAt = p.lastPartAt
	p.follows = u.Message.Follows() && a.hasAddressed(u)
	q.pending = append(q.pending, p)
	isOnly := len(q.pending) == 1
	if isOnly {
		q.users++ // by the goroutine that receives the chat's messages
	}
	a.start(ctx, q, p, isOnly)
}

// endStoring ends what joinOrCreate has begun: the update is durable and becomes pending, is known
// as received before, or could not be stored.
func (a *pendingQueues) endStoring(ctx context.Context, q *chatQueue, p *pendingMessage, u *updates.Update, known bool,
	err error,
) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.storing--
	if err == nil && !known {
		a.addPart(ctx, q, p, u)
	} else if len(p.messages) == 0 {
		a.count--
	} else if err != nil && a.byWebhook {
		a.awaitResend(p)
	}
	p.recheck()
}

// isHalfFull reports whether half of the messages that may be pending are.
func (a *pendingQueues) isHalfFull() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count >= maxPendingWebhook/2
}

// acquire returns the queue of a chat. The queue exists until release is called, and while it has
// pending messages.
func (a *pendingQueues) acquire(chat string) *chatQueue {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.queueOf(chat)
	q.users++
	return q
}

// queueOf returns the queue of a chat. The caller holds pendingQueues.mu.
func (a *pendingQueues) queueOf(chat string) *chatQueue {
	q := a.chats[chat]
	if q == nil {
		q = &chatQueue{name: chat, updates: map[int64]bool{}}
		a.chats[chat] = q
	}
	return q
}

func (a *pendingQueues) release(q *chatQueue) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q.users--
	// When Run ends, messages stay pending. An update that is accepted after that must still find
	// them, or it would be received before them.
	if q.users == 0 && len(q.pending) == 0 {
		delete(a.chats, q.name)
	}
}

// storedPart is a part of a pending message that an earlier run has stored.
type storedPart struct {
	chat, group string
	update      *updates.Update
}

// restore makes parts pending again, and returns the number of their messages. No message is
// complete before all its parts are restored.
func (a *pendingQueues) restore(ctx context.Context, parts []storedPart) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	groups := map[string]*pendingMessage{}
	for _, part := range parts {
		key := part.chat + " " + part.group
		p := groups[key]
		if p == nil {
			p = newPendingMessage(part.group)
			groups[key] = p
			a.count++
		}
		a.addPart(ctx, a.queueOf(part.chat), p, part.update)
		p.awaitsParts = p.awaitsMore()
	}
	return len(groups)
}
