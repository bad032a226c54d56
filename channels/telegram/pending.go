package telegram

import (
	"context"
	"slices"
	"time"

	"nanobot/channels"
)

// pendingMessage is a message whose parts are durable and that was not received as a whole yet. It
// is protected by receiver.mu; once ready is closed, the chat's goroutine owns it.
type pendingMessage struct {
	group       string // the group of its parts
	updates     []int64
	messages    []*message // several for an album, or if they were joined
	storing     int        // parts that are being stored
	lastPartAt  time.Time  // when its last part arrived
	awaitsParts bool       // parts may be missing because of a restart or a refused delivery
	deadline    time.Time  // when awaitsParts ends; zero: stopAwaiting ends it
	closed      bool       // no more parts are added
	superseded  bool       // a later message of its sender does not belong to it, so that it waits no longer
	follows     bool       // it is for the bot, because it follows a text that is
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
// caller holds receiver.mu.
func (in *receiver) isComplete(p *pendingMessage) (now bool, after time.Duration) {
	switch {
	case p.storing > 0:
		return false, recheckInterval
	case !p.awaitsMore() || p.superseded:
		return true, 0
	case (p.awaitsParts || !in.pollStart.IsZero()) && !in.isPollBlocked(): // the next poll may have more parts
		if p.awaitsParts && !p.deadline.IsZero() {
			after = time.Until(p.deadline)
			return after <= 0, after
		}
		return false, recheckInterval
	}
	quiet := in.c.o.Timing.Quiet
	switch last := p.messages[len(p.messages)-1]; {
	case last.mayContinue():
		quiet = in.c.o.Timing.Paste
	case in.c.webhook != nil && last.joinsNext && last.album() == "":
		quiet = in.c.o.Timing.Comment
	}
	after = time.Until(p.lastPartAt.Add(quiet))
	return after <= 0, after
}

const recheckInterval = time.Hour

// awaitResend makes an album wait for a part that could not be stored until Telegram has delivered
// it again. The caller holds receiver.mu.
func (in *receiver) awaitResend(p *pendingMessage) {
	if !p.awaitsParts {
		p.awaitsParts, p.deadline = true, time.Now().Add(in.c.o.Timing.Resend)
	}
}

// isPollBlocked reports whether the poll waits for a pending message. An album that waited for the
// next poll then would cause a deadlock. The caller holds receiver.mu.
func (in *receiver) isPollBlocked() bool {
	return in.c.webhook == nil && in.pendingCount >= maxPendingPoll
}

// recheckAlbums makes all open albums check whether they are complete. The caller holds
// receiver.mu.
func (in *receiver) recheckAlbums() {
	for _, q := range in.chats {
		for _, p := range q.pending {
			if !p.closed {
				p.recheck()
			}
		}
	}
}

// completeMessage waits until a message has all its parts, and builds the whole message.
func (in *receiver) completeMessage(ctx context.Context, p *pendingMessage) {
	if !in.awaitParts(ctx, p) {
		return
	}
	p.ignored = !p.follows && !slices.ContainsFunc(p.messages, in.c.isForBot)
	if !p.ignored {
		p.whole = in.c.newIncoming(ctx, p.messages)
		p.whole.Part = &channels.Part{Group: p.group, Last: true}
	}
	if ctx.Err() == nil { // otherwise a file may be missing only because of the shutdown
		close(p.ready)
	}
}

// awaitParts waits until a message has all its parts, and closes it. It reports false if ctx ends
// first.
func (in *receiver) awaitParts(ctx context.Context, p *pendingMessage) bool {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		in.mu.Lock()
		complete, after := in.isComplete(p)
		p.closed = complete
		in.mu.Unlock()
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

// drainQueue receives the pending messages of a chat in order, until none is left or ctx ends.
func (in *receiver) drainQueue(ctx context.Context, q *chatQueue) {
	defer in.releaseQueue(q)
	for p := in.firstPending(q); p != nil; p = in.nextPending(q) {
		select {
		case <-p.ready:
		case <-ctx.Done():
			return
		}
		if !in.retry(ctx, func() error { return in.receiveWhole(ctx, p) }) {
			return
		}
	}
}

// receiveWhole receives the whole message, which removes its parts.
func (in *receiver) receiveWhole(ctx context.Context, p *pendingMessage) error {
	if !p.ignored {
		p.whole.Waited = time.Since(p.firstPartAt)
		return in.receive(ctx, p.whole)
	}
	if err := in.c.migrations.saveIfMigrated(ctx, in.c.memory, p.messages...); err != nil {
		return err
	}
	return in.c.memory.DropParts(ctx, channels.Chat{Channel: Name, ID: p.messages[0].address().String()}, p.group)
}

func (in *receiver) firstPending(q *chatQueue) *pendingMessage {
	in.mu.Lock()
	defer in.mu.Unlock()
	return q.pending[0]
}

// nextPending removes the first pending message of a chat and returns the next, or nil.
func (in *receiver) nextPending(q *chatQueue) *pendingMessage {
	in.mu.Lock()
	defer in.mu.Unlock()
	q.pending = slices.Delete(q.pending, 0, 1)
	in.pendingCount--
	if len(q.pending) == 0 {
		return nil
	}
	return q.pending[0]
}

// anyAwaitsParts reports whether parts of an album may be missing because of a restart.
func (in *receiver) anyAwaitsParts() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, q := range in.chats {
		if slices.ContainsFunc(q.pending, func(p *pendingMessage) bool { return p.awaitsParts }) {
			return true
		}
	}
	return false
}

// stopAwaiting ends the wait for parts that were delayed by a restart.
func (in *receiver) stopAwaiting() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, q := range in.chats {
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
func (in *receiver) beginPoll() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pollStart = time.Now()
}

func (in *receiver) endPoll() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, q := range in.chats {
		for _, p := range q.pending {
			if p.closed {
				continue
			}
			if !p.lastPartAt.Before(in.pollStart) {
				p.lastPartAt = time.Now()
			}
			p.recheck()
		}
	}
	in.pollStart = time.Time{}
}
