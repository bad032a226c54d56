package outbox

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

const (
	// concurrentChats and maxResting bound the chats of a backlog that are served and that wait at
	// the same time, so that a large backlog costs no memory. sweepInterval is how often the other
	// chats are looked up.
	concurrentChats, maxResting, sweepInterval = 256, 1024, 10 * time.Second
	// maxLookedAt bounds the deliveries of a chat that are looked at, the newest first.
	maxLookedAt = 50
)

// chatSender is the state of a chat that has a goroutine.
type chatSender struct {
	first    *store.Delivery // already marked as sending, or nil
	more     bool            // a message was stored in the meantime
	givesWay bool            // it waits for the time of a delivery that gives way, the newest one
	woken    chan struct{}   // receives when more is set
}

// Wake makes a goroutine send the stored messages of a chat. It is called after a delivery was
// stored other than by Post.
func (o *Outbox) Wake(chat channels.Chat) { o.serve(chat, nil) }

// serve makes a goroutine send the stored messages of a chat. first is a delivery that is already
// marked as sending, or nil. It reports false after the end of Run.
func (o *Outbox) serve(chat channels.Chat, first *store.Delivery) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	q, busy := o.chats[chat]
	if !busy {
		q = &chatSender{woken: make(chan struct{}, 1)}
		if !o.tasks.Go(func(ctx context.Context) { o.sendChat(ctx, chat, q) }) {
			return false
		}
		o.chats[chat] = q
	}
	q.more = true
	select {
	case q.woken <- struct{}{}:
	default:
	}
	if first != nil {
		q.first = first
	}
	return true
}

// isServed reports whether a chat has a goroutine.
func (o *Outbox) isServed(chat channels.Chat) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, busy := o.chats[chat]
	return busy
}

// isBusy reports whether a chat has a message to send, other than one that gives way, as far as
// memory knows. The caller holds mu.
func (o *Outbox) isBusy(chat channels.Chat) bool {
	q, served := o.chats[chat]
	return o.enqueuing[chat] > 0 || served && !q.givesWay
}

// Empty reports whether no message waits to be sent to a chat, other than one that gives way.
func (o *Outbox) Empty(ctx context.Context, chat channels.Chat) bool {
	_, empty := o.lookAtChat(ctx, chat)
	return empty
}

// lookAtChat returns the newest deliveries of a chat that were not sent. It reports whether none of
// them waits to be sent, other than one that gives way.
func (o *Outbox) lookAtChat(ctx context.Context, chat channels.Chat) (newest []store.Delivery, empty bool) {
	newest, err := o.o.Store.Undelivered(ctx, chat, maxLookedAt)
	waits := func(p store.Delivery) bool { return p.State == store.Pending && !p.Out.GivesWay }
	if err != nil || slices.ContainsFunc(newest, waits) {
		return newest, false
	}
	// The deliveries that are being sent are not among the newest. They were known before the store
	// was read, so memory is looked at after that.
	o.mu.Lock()
	defer o.mu.Unlock()
	return newest, !o.isBusy(chat)
}

// sendChat sends the messages of a chat until none is left.
func (o *Outbox) sendChat(ctx context.Context, chat channels.Chat, q *chatSender) {
	for {
		first, ok := o.startRound(ctx, chat, q)
		if !ok {
			if first != nil { // it was not sent
				o.storeResult(ctx, *first, store.Settlement{State: store.Pending})
			}
			return
		}
		if first != nil && !o.trySend(ctx, *first) {
			continue // a message that was stored since has set q.more
		}
		for p, ok := o.nextDelivery(ctx, chat, q); ok && o.trySend(ctx, p); p, ok = o.nextDelivery(ctx, chat, q) {
		}
	}
}

// startRound returns the delivery to start with, if one is marked as sending. It reports false, and
// ends the chat's goroutine, when there is nothing to send.
func (o *Outbox) startRound(ctx context.Context, chat channels.Chat, q *chatSender) (first *store.Delivery, ok bool) {
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

// nextDelivery returns the next delivery, when its time has come. While a delivery that gives way
// waits for its time, newer ones overtake it.
func (o *Outbox) nextDelivery(ctx context.Context, chat channels.Chat, q *chatSender) (store.Delivery, bool) {
	for {
		p, ok, err := o.o.Store.NextDelivery(ctx, chat, 0)
		wait := firstBackoff
		var second store.Delivery // waits behind one that gives way
		switch {
		case err == nil && (ok || p.Wait == 0), ctx.Err() != nil:
			return p, ok && err == nil
		case err == nil && p.Wait > maxWait:
			o.storeResult(ctx, p, store.Settlement{State: store.Pending, Reason: p.Err, Doubtful: p.Doubtful})
			continue
		case err == nil && p.Out.GivesWay && o.isSuperfluous(ctx, p):
			o.leaveOut(ctx, p)
			continue
		case err == nil && p.Out.GivesWay:
			if second, ok, err = o.o.Store.NextDelivery(ctx, chat, p.ID); err == nil && ok {
				return second, true
			}
			if wait = p.Wait; second.Wait > 0 {
				wait = min(wait, second.Wait)
			}
		case err == nil: // its time has not come
			wait = p.Wait
		default:
			o.o.Log.Error("cannot read the outbox, will retry", zap.Stringer("chat", chat), zap.Error(err))
		}
		var newer <-chan struct{}
		if p.Out.GivesWay {
			newer = q.woken
		}
		o.setGivesWay(q, newer != nil && second.ID == 0)
		rested := o.rest(ctx, wait, newer)
		o.setGivesWay(q, false)
		if !rested {
			return p, false
		}
	}
}

// setGivesWay records whether a chat waits for the time of a delivery that gives way.
func (o *Outbox) setGivesWay(q *chatSender, givesWay bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q.givesWay = givesWay
	o.changed.Broadcast()
}

// isSuperfluous reports whether a newer message that waits to be sent to the same chat notifies
// people, so that a delivery that gives way need not do that, too.
func (o *Outbox) isSuperfluous(ctx context.Context, p store.Delivery) bool {
	newest, err := o.o.Store.Undelivered(ctx, p.Out.Chat, maxLookedAt)
	return err == nil && slices.ContainsFunc(newest, func(n store.Delivery) bool {
		return n.State == store.Pending && n.ID > p.ID && !n.Out.Silent && !n.Out.Unchanged && n.Out.Replace == ""
	})
}

// leaveOut ends a superfluous delivery. It has no content.
func (o *Outbox) leaveOut(ctx context.Context, p store.Delivery) (more bool) {
	return o.storeResult(ctx, p, store.Settlement{State: store.Sent, Reason: "left out: a newer message notifies people instead"})
}

// rest waits for the time of a delivery, or until newer receives. It reports false when ctx ends,
// or when so many chats wait that this one is left on disk until there are fewer.
func (o *Outbox) rest(ctx context.Context, wait time.Duration, newer <-chan struct{}) bool {
	o.mu.Lock()
	if o.resting >= maxResting {
		o.deferred = true
		o.changed.Broadcast()
		o.mu.Unlock()
		return false
	}
	o.resting++
	o.changed.Broadcast()
	o.mu.Unlock()
	defer o.addTo(&o.resting, -1)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-newer:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Resume serves the chats with messages of an earlier run, and the chats that rest has left on
// disk. It returns when ctx ends.
func (o *Outbox) Resume(ctx context.Context) error {
	for {
		if err := o.sweep(ctx); err != nil {
			o.o.Log.Error("cannot read the outbox, will retry", zap.Error(err))
		} else {
			o.await(ctx, func() bool { return o.deferred })
		}
		if !retry.Sleep(ctx, sweepInterval) {
			return nil
		}
		o.mu.Lock()
		o.deferred = false
		o.mu.Unlock()
	}
}

// sweep serves all chats with pending deliveries, a limited number at a time.
func (o *Outbox) sweep(ctx context.Context) error {
	for after := ""; ; {
		chats, err := o.o.Store.ChatsToSend(ctx, after, concurrentChats)
		if ctx.Err() != nil || err == nil && len(chats) == 0 {
			return nil //nolint:nilerr // the outbox ends
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
