package discord

import (
	"context"
	"slices"
	"time"
)

// maxReceives bounds concurrent Receive calls. It is well above the number of messages that one
// group commit of the store takes.
const maxReceives = 128

// receiveOutcome is the result of one Receive call.
type receiveOutcome struct {
	queue     *chatQueue
	watermark snowflake // the watermark in the message's cursor
	err       error
}

// deliverReady starts Receive for the first message of each chat that is complete. A chat whose
// message fails waits; other chats continue.
func (in *receiver) deliverReady(ctx context.Context) {
	now := time.Now()
	for id, q := range in.queues {
		if now.Before(q.retryAt) {
			continue
		}
		q.retryAt = time.Time{}
		switch {
		case q.receiving || len(in.receiving) == maxReceives:
		case len(q.entries) > 0:
			if e := q.entries[0]; e.ready && in.state.savedVersion >= e.chatsVersion && !in.receiving[e.incoming.Chat.ID] {
				in.deliverFirst(ctx, q)
			}
		case len(q.live) == 0 && q.history == nil:
			delete(in.queues, id)
		}
	}
}

// deliverFirst receives the first message of a chat in its own goroutine. Its cursor is the
// watermark that holds once this message is stored. If a later message is stored earlier, the
// stored cursor moves back a little, which is harmless: the messages since are fetched again and
// recognised by ID.
func (in *receiver) deliverFirst(ctx context.Context, q *chatQueue) {
	e := q.entries[0]
	mark := in.watermark(e)
	e.incoming.Cursor = in.state.formatCursor(mark)
	q.receiving = true
	in.receiving[e.incoming.Chat.ID] = true
	message := e.incoming
	in.background.Go(func() error {
		err := in.receive(ctx, message)
		in.outcomes <- receiveOutcome{q, mark, err} // never blocks: its capacity is maxReceives
		return nil
	})
}

// handleOutcome removes a received message from its queue, or schedules a retry.
func (in *receiver) handleOutcome(ctx context.Context, o receiveOutcome) {
	q := o.queue
	e := q.entries[0]
	q.receiving = false
	delete(in.receiving, e.incoming.Chat.ID)
	if o.err != nil {
		in.postponeQueue(ctx, q, o.err)
		return
	}
	q.entries = slices.Delete(q.entries, 0, 1)
	in.state.watermark, in.savedWatermark = max(in.state.watermark, o.watermark), max(in.savedWatermark, o.watermark)
	if e.interaction != nil {
		in.background.Go(func() error { in.c.showReceived(ctx, e.interaction); return nil })
	}
	q.failed = false
	if !in.hasFailedQueue() {
		in.receiveRetrier.Reset()
	}
}

// postponeQueue delays the next attempt to receive the first message of a chat. All failing chats
// share one retry time, because they mostly fail for the same reason.
func (in *receiver) postponeQueue(ctx context.Context, q *chatQueue, err error) {
	if ctx.Err() != nil {
		return
	}
	if now := time.Now(); !now.Before(in.receiveRetryAt) {
		in.receiveRetryAt = now.Add(in.receiveRetrier.Next(err))
	}
	q.failed, q.retryAt = true, in.receiveRetryAt
}

// hasFailedQueue reports whether the first message of any chat has failed and waits for a retry.
func (in *receiver) hasFailedQueue() bool {
	for _, q := range in.queues {
		if q.failed {
			return true
		}
	}
	return false
}

// awaitReceives waits for the running Receive calls when Run ends.
func (in *receiver) awaitReceives(ctx context.Context) {
	for len(in.receiving) > 0 {
		in.handleOutcome(ctx, <-in.outcomes)
	}
}
