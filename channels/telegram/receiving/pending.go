package receiving

import (
	"context"
	"slices"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram/updates"
)

// pendingMessage is a message whose parts are durable and that was not received as a whole yet. It
// is protected by pendingQueues.mu; once ready is closed, the chat's goroutine owns it.
type pendingMessage struct {
	group       string // the group of its parts
	updates     []int64
	messages    []*updates.Message // several for an album, or if they were joined
	storing     int                // parts that are being stored
	lastPartAt  time.Time          // when its last part arrived
	awaitsParts bool               // parts may be missing because of a restart or a refused delivery
	deadline    time.Time          // when awaitsParts ends; zero: stopAwaiting ends it
	closed      bool               // no more parts are added
	superseded  bool               // a later message of its sender does not belong to it, so that it waits no longer
	follows     bool               // it is for the bot, because it follows a text that is
	firstPartAt time.Time
	changed     chan struct{}
	ready       chan struct{} // closed when whole is complete
	whole       channels.Incoming
	ignored     bool // the message is not for the bot
}

// maxAlbum is the largest number of files in an album of Telegram.
const maxAlbum = 10

func newPendingMessage(group string) *pendingMessage {
	return &pendingMessage{group: group, changed: make(chan struct{}, 1), ready: make(chan struct{})}
}

// recheck makes the album's goroutine check again whether it is complete.
func (p *pendingMessage) recheck() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// isComplete reports whether a message has all its parts, or after which time to check again. The
// caller holds pendingQueues.mu.
func (a *pendingQueues) isComplete(p *pendingMessage) (now bool, after time.Duration) {
	switch {
	case p.storing > 0:
		return false, recheckInterval
	case !p.awaitsMore() || p.superseded:
		return true, 0
	case (p.awaitsParts || !a.pollStart.IsZero()) && !a.isPollBlocked(): // the next poll may have more parts
		if p.awaitsParts && !p.deadline.IsZero() {
			after = time.Until(p.deadline)
			return after <= 0, after
		}
		return false, recheckInterval
	}
	quiet := a.timing.Quiet
	switch last := p.messages[len(p.messages)-1]; {
	case last.MayContinue():
		quiet = a.timing.Paste
	case last.JoinsNext && last.Album() == "":
		quiet = a.timing.Comment
	}
	after = time.Until(p.lastPartAt.Add(quiet))
	return after <= 0, after
}

const recheckInterval = time.Hour

// awaitResend makes an album wait for a part that could not be stored until Telegram has delivered
// it again. The caller holds pendingQueues.mu.
func (a *pendingQueues) awaitResend(p *pendingMessage) {
	if !p.awaitsParts {
		p.awaitsParts, p.deadline = true, time.Now().Add(a.timing.Resend)
	}
}

// isPollBlocked reports whether the poll waits for a pending message. An album that waited for the
// next poll then would cause a deadlock. The caller holds pendingQueues.mu.
func (a *pendingQueues) isPollBlocked() bool {
	return !a.byWebhook && a.count >= maxPendingPoll
}

// recheckAlbums makes all open albums check whether they are complete. The caller holds
// pendingQueues.mu.
func (a *pendingQueues) recheckAlbums() {
	for _, q := range a.chats {
		for _, p := range q.pending {
			if !p.closed {
				p.recheck()
			}
		}
	}
}

// awaitParts waits until a message has all its parts, and closes it. It reports false if ctx ends
// first.
func (a *pendingQueues) awaitParts(ctx context.Context, p *pendingMessage) bool {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		a.mu.Lock()
		complete, after := a.isComplete(p)
		p.closed = complete
		a.mu.Unlock()
		if complete {
			return true
		}
		timer.Reset(after)
		select {
		case <-p.changed:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return false
}

func (a *pendingQueues) first(q *chatQueue) *pendingMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return q.pending[0]
}

// next removes the first pending message of a chat and returns the next, or nil.
func (a *pendingQueues) next(q *chatQueue) *pendingMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range q.pending[0].updates {
		delete(q.updates, id)
	}
	q.pending = slices.Delete(q.pending, 0, 1)
	a.count--
	if len(q.pending) == 0 {
		return nil
	}
	return q.pending[0]
}

// anyAwaitsParts reports whether parts of an album may be missing because of a restart.
func (a *pendingQueues) anyAwaitsParts() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.chats {
		if slices.ContainsFunc(q.pending, func(p *pendingMessage) bool { return p.awaitsParts }) {
			return true
		}
	}
	return false
}

// stopAwaiting ends the wait for parts that were delayed by a restart.
func (a *pendingQueues) stopAwaiting() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.chats {
		for _, p := range q.pending {
			if p.awaitsParts {
				p.awaitsParts, p.lastPartAt = false, time.Now()
				p.recheck()
			}
		}
	}
}

// beginPoll marks that a batch is being accepted. Until endPoll no album counts as complete,
// because its other parts cannot arrive without another poll.
func (a *pendingQueues) beginPoll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pollStart = time.Now()
}

func (a *pendingQueues) endPoll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.chats {
		for _, p := range q.pending {
			if p.closed {
				continue
			}
			if !p.lastPartAt.Before(a.pollStart) {
				p.lastPartAt = time.Now()
			}
			p.recheck()
		}
	}
	a.pollStart = time.Time{}
}
