package telegram

import (
	"context"
	"slices"
	"time"

	"nanobot/channels"
)

// pending is a message that is durable in parts and not received whole yet. It is protected by
// intake.mu; once ready is closed, the chat's goroutine owns it.
type pending struct {
	group    string // names its parts
	updates  []int64
	messages []*message // several of an album
	joining  int        // parts that are being stored
	touched  time.Time  // when its last part came
	awaits   bool       // other parts may have been held up by a restart or a refused delivery
	deadline time.Time  // when awaits ends by itself; zero: stopAwaiting ends it
	closed   bool       // it takes no more parts
	changed  chan struct{}
	ready    chan struct{} // closed when whole is made
	whole    channels.Incoming
	ignored  bool // it is not for the bot
}

// albumLimit is how many files Telegram puts in an album.
const albumLimit = 10

func newPending(group string) *pending {
	return &pending{group: group, changed: make(chan struct{}, 1), ready: make(chan struct{})}
}

// takes tells whether a message is another part of the album.
func (p *pending) takes(m *message) bool {
	return m.Group != "" && !p.closed && len(p.messages)+p.joining < albumLimit && p.messages[0].Group == m.Group
}

// wake has the album's goroutine look again whether it is complete.
func (p *pending) wake() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// isComplete tells whether a message has all its parts, or else when it is thought to. The caller
// holds intake.mu.
func (in *intake) isComplete(p *pending) (now bool, after time.Duration) {
	switch {
	case p.joining > 0:
		return false, longTime
	case p.messages[0].Group == "" || len(p.messages) >= albumLimit:
		return true, 0
	case (p.awaits || !in.polled.IsZero()) && !in.isPollBlocked(): // the next poll may bring more
		if p.awaits && !p.deadline.IsZero() {
			after = time.Until(p.deadline)
			return after <= 0, after
		}
		return false, longTime
	}
	after = time.Until(p.touched.Add(in.c.o.Timing.Quiet))
	return after <= 0, after
}

const longTime = time.Hour

// awaitResend has an album wait for a part that could not be stored until Telegram has delivered it
// again. The caller holds intake.mu.
func (in *intake) awaitResend(p *pending) {
	if !p.awaits {
		p.awaits, p.deadline = true, time.Now().Add(in.c.o.Timing.Resend)
	}
}

// isPollBlocked reports whether the poll cannot end before a pending message is received. An album
// that waited for the next poll then would wait for ever. The caller holds intake.mu.
func (in *intake) isPollBlocked() bool { return in.c.hook == nil && in.pending >= pollLimit }

// wakeOpen has all albums that take parts checked for completeness. The caller holds intake.mu.
func (in *intake) wakeOpen() {
	for _, q := range in.chats {
		for _, p := range q.pending {
			if !p.closed {
				p.wake()
			}
		}
	}
}

// complete waits until a message has all its parts, and makes the whole message of them.
func (in *intake) complete(ctx context.Context, p *pending) {
	if !in.awaitParts(ctx, p) {
		return
	}
	p.ignored = !slices.ContainsFunc(p.messages, in.c.forUs)
	if !p.ignored {
		p.whole = in.c.incoming(ctx, p.messages)
		p.whole.Part = &channels.Part{Group: p.group, Last: true}
	}
	if ctx.Err() == nil { // otherwise a file may be missing only because we are told to end
		close(p.ready)
	}
}

// awaitParts waits until a message has all its parts, and closes it. It reports false if ctx ends
// before.
func (in *intake) awaitParts(ctx context.Context, p *pending) bool {
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

// drain hands on what is pending of a chat, in order, until nothing is left or ctx ends.
func (in *intake) drain(ctx context.Context, q *chatQueue) {
	defer in.leave(q)
	for p := in.first(q); p != nil; p = in.next(q) {
		select {
		case <-p.ready:
		case <-ctx.Done():
			return
		}
		if !in.insist(ctx, func() error { return in.handOn(ctx, p) }) {
			return
		}
	}
}

// handOn has the whole message received, which removes its parts.
func (in *intake) handOn(ctx context.Context, p *pending) error {
	if !p.ignored {
		return in.receive(ctx, p.whole)
	}
	if err := in.c.moves.save(ctx, in.c.memory, p.messages...); err != nil {
		return err
	}
	return in.c.memory.DropParts(ctx, channels.Chat{Channel: Name, ID: p.messages[0].place().String()}, p.group)
}

func (in *intake) first(q *chatQueue) *pending {
	in.mu.Lock()
	defer in.mu.Unlock()
	return q.pending[0]
}

// next removes the first pending message of a chat and returns the one behind it, or nil.
func (in *intake) next(q *chatQueue) *pending {
	in.mu.Lock()
	defer in.mu.Unlock()
	q.pending = slices.Delete(q.pending, 0, 1)
	in.pending--
	if len(q.pending) == 0 {
		return nil
	}
	return q.pending[0]
}

// anyAwaits tells whether an album may have lost its other parts to a restart.
func (in *intake) anyAwaits() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, q := range in.chats {
		if slices.ContainsFunc(q.pending, func(p *pending) bool { return p.awaits }) {
			return true
		}
	}
	return false
}

// stopAwaiting ends the waiting for parts that were held up by a restart.
func (in *intake) stopAwaiting() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, q := range in.chats {
		for _, p := range q.pending {
			if p.awaits {
				p.awaits, p.touched = false, time.Now()
				p.wake()
			}
		}
	}
}

// beginPoll says that updates of a poll are about to be accepted. Until endPoll no album is thought
// to be complete, because nothing more is polled: its other parts cannot come.
func (in *intake) beginPoll() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.polled = time.Now()
}

func (in *intake) endPoll() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, q := range in.chats {
		for _, p := range q.pending {
			if p.closed {
				continue
			}
			if !p.touched.Before(in.polled) {
				p.touched = time.Now()
			}
			p.wake()
		}
	}
	in.polled = time.Time{}
}
