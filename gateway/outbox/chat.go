package outbox

import (
	"context"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

const (
	// concurrentChats and mostResting bound how many chats of a backlog are served and wait for
	// their time at the same time, so that a large one costs no memory. sweepEvery is how often the
	// rest of them are looked for.
	concurrentChats, mostResting, sweepEvery = 256, 1024, 10 * time.Second
)

// chatQueue is a chat that is being served.
type chatQueue struct {
	first *store.Delivery // marked sending already, or nil
	more  bool            // something was stored meanwhile
}

// Wake has a goroutine send what is stored for a chat. It is called after a delivery was stored
// otherwise than by Post.
func (o *Outbox) Wake(chat channels.Chat) { o.serve(chat, nil) }

// serve has a goroutine send what is stored for a chat. first is a delivery that is marked sending
// already, or nil. It reports false when nothing is sent any more.
func (o *Outbox) serve(chat channels.Chat, first *store.Delivery) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	q, busy := o.chats[chat]
	if !busy {
		q = &chatQueue{}
		if !o.tasks.Go(func(ctx context.Context) { o.deliver(ctx, chat, q) }) {
			return false
		}
		o.chats[chat] = q
	}
	q.more = true
	if first != nil {
		q.first = first
	}
	return true
}

// serves reports whether a chat has a goroutine.
func (o *Outbox) serves(chat channels.Chat) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, busy := o.chats[chat]
	return busy
}

// Empty reports whether nothing waits to be sent to a chat.
func (o *Outbox) Empty(ctx context.Context, chat channels.Chat) bool {
	if o.serves(chat) {
		return false
	}
	// What is pending is newer than what has failed.
	newest, err := o.o.Store.Undelivered(ctx, chat, 1)
	return err == nil && (len(newest) == 0 || newest[0].State != store.Pending)
}

// deliver sends what a chat has to send until there is nothing left.
func (o *Outbox) deliver(ctx context.Context, chat channels.Chat, q *chatQueue) {
	for {
		first, ok := o.take(ctx, chat, q)
		if !ok {
			if first != nil { // it was not sent
				o.settle(ctx, *first, store.Settlement{State: store.Pending})
			}
			return
		}
		if first != nil && !o.send(ctx, *first) {
			continue // what was stored since the last look has set q.more
		}
		for p, ok := o.next(ctx, chat); ok && o.send(ctx, p); p, ok = o.next(ctx, chat) {
		}
	}
}

// take returns what a chat is to begin with. It reports false, and the chat is not served any more,
// when there is nothing to do.
func (o *Outbox) take(ctx context.Context, chat channels.Chat, q *chatQueue) (first *store.Delivery, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first, q.first = q.first, nil
	if q.more && ctx.Err() == nil {
		q.more = false
		return first, true
	}
	delete(o.chats, chat)
	o.changed.Broadcast()
	return first, false
}

// next returns the delivery to send, once its time has come.
func (o *Outbox) next(ctx context.Context, chat channels.Chat) (store.Delivery, bool) {
	for {
		p, ok, err := o.o.Store.NextDelivery(ctx, chat)
		wait := firstPause
		switch {
		case err == nil && (ok || p.Wait == 0), ctx.Err() != nil:
			return p, ok && err == nil
		case err == nil && p.Wait > longestWait:
			o.settle(ctx, p, store.Settlement{State: store.Pending, Reason: p.Err, Doubtful: p.Doubtful})
			continue
		case err == nil: // its time has not come
			wait = p.Wait
		default:
			o.o.Log.Error("cannot read the outbox, will retry", zap.Stringer("chat", chat), zap.Error(err))
		}
		if !o.rest(ctx, wait) {
			return p, false
		}
	}
}

// rest waits for the time of a delivery. It reports false when there is no use in that: ctx ends,
// or so many chats wait that this one is better left on disk until they are fewer.
func (o *Outbox) rest(ctx context.Context, wait time.Duration) bool {
	o.mu.Lock()
	if o.resting >= mostResting {
		o.deferred = true
		o.changed.Broadcast()
		o.mu.Unlock()
		return false
	}
	o.resting++
	o.changed.Broadcast()
	o.mu.Unlock()
	defer o.add(&o.resting, -1)
	return retry.Sleep(ctx, wait)
}

// Resume serves the chats for which an earlier run left something, and those that were too many to
// wait for their time. It returns when ctx ends.
func (o *Outbox) Resume(ctx context.Context) error {
	for {
		if err := o.sweep(ctx); err != nil {
			o.o.Log.Error("cannot read the outbox, will retry", zap.Error(err))
		} else {
			o.await(ctx, func() bool { return o.deferred })
		}
		if !retry.Sleep(ctx, sweepEvery) {
			return nil
		}
		o.mu.Lock()
		o.deferred = false
		o.mu.Unlock()
	}
}

// sweep serves all chats with something to send, a few at a time.
func (o *Outbox) sweep(ctx context.Context) error {
	for after := ""; ; {
		chats, err := o.o.Store.ChatsToSend(ctx, after, concurrentChats)
		if ctx.Err() != nil || err == nil && len(chats) == 0 {
			return nil //nolint:nilerr // told to end
		}
		if err != nil {
			return err
		}
		for _, chat := range chats {
			o.Wake(chat)
			after = chat.String()
			o.await(ctx, func() bool { return len(o.chats)-o.resting < concurrentChats })
		}
	}
}
