package outbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// maxLookedAt bounds the deliveries of a chat that are looked at, the newest first.
const maxLookedAt = 50

// chatSender is the state of a chat that has a goroutine.
type chatSender struct {
	first       *store.Delivery // already marked as sending, or nil
	more        bool            // a message was stored in the meantime
	overtakable bool            // it waits for the time of a delivery that can be overtaken, the newest one
	idle        bool            // it waits for the time of a delivery
	sending     *store.Delivery // the delivery that is being sent; nil: none, or the next one is looked up
	givesWay    int64           // the silent delivery that waits because it gives way, or 0
	earlier     bool            // the delivery that is returned next was stored in an earlier run
	woken       chan struct{}   // receives when more is set
}

// canBeOvertaken reports whether newer messages of its chat are sent before a delivery that gives
// way.
func canBeOvertaken(out channels.Outgoing) bool { return out.GivesWay && !out.InOrder }

// Wake makes a goroutine send the stored messages of a chat. It is called after a delivery was
// stored other than by Post.
func (box *Outbox) Wake(chat channels.Chat) { box.serve(chat, nil) }

// serve makes a goroutine send the stored messages of a chat. first is a delivery that is already
// marked as sending, or nil. It reports false after the end of Run.
func (box *Outbox) serve(chat channels.Chat, first *store.Delivery) bool {
	box.mu.Lock()
	defer box.mu.Unlock()
	q, busy := box.chats[chat]
	if !busy {
		q = &chatSender{woken: make(chan struct{}, 1)}
		if !box.tasks.Go(func(ctx context.Context) { box.sendChat(ctx, chat, q) }) {
			return false
		}
		box.chats[chat] = q
		box.loads.of(chat.Channel).served++
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
func (box *Outbox) isServed(chat channels.Chat) bool {
	box.mu.Lock()
	defer box.mu.Unlock()
	_, busy := box.chats[chat]
	return busy
}

// isBusy reports whether a chat has a message to send, other than one that gives way, as far as
// memory knows. The caller holds mu.
func (box *Outbox) isBusy(chat channels.Chat) bool {
	q, served := box.chats[chat]
	return box.enqueuing[chat] > 0 || served && !q.overtakable
}

// Empty reports whether no message waits to be sent to a chat, other than one that gives way.
func (box *Outbox) Empty(ctx context.Context, chat channels.Chat) bool {
	newest, err := box.o.Store.Undelivered(ctx, chat, maxLookedAt)
	if err != nil || slices.ContainsFunc(newest, waits) {
		return false
	}
	// The deliveries that are being sent are not among the newest. They were known before the store
	// was read, so memory is looked at after that.
	box.mu.Lock()
	defer box.mu.Unlock()
	return !box.isBusy(chat)
}

// waits reports whether a delivery waits to be sent, and does not give way.
func waits(delivery store.Delivery) bool {
	return delivery.State == store.Pending && !canBeOvertaken(delivery.Out)
}

// sendChat sends the messages of a chat until none is left.
func (box *Outbox) sendChat(ctx context.Context, chat channels.Chat, q *chatSender) {
	for {
		first, ok := box.startRound(ctx, chat, q)
		if !ok {
			if first != nil { // it was not sent
				box.storeResult(ctx, *first, store.Settlement{State: store.Pending})
			}
			return
		}
		if first != nil && !box.send(ctx, q, *first) {
			continue // a message that was stored since has set q.more
		}
		for delivery, ok := box.nextDelivery(ctx, chat, q); ok && box.send(ctx, q, delivery); delivery,
			ok = box.nextDelivery(ctx, chat, q) {
		}
	}
}

// send makes one try to send a delivery. It reports whether the chat has more to send.
func (box *Outbox) send(ctx context.Context, q *chatSender, delivery store.Delivery) (more bool) {
	set := func(now *store.Delivery) {
		box.mu.Lock()
		defer box.mu.Unlock()
		q.sending = now
		box.changed.Broadcast()
	}
	set(&delivery)
	defer set(nil)
	if q.earlier {
		q.earlier = false
		box.reactions.addEarlier(ctx, delivery)
	}
	return box.trySend(ctx, delivery)
}

// maySend reports whether a delivery of an inbound message may be being sent. The caller holds mu.
func (box *Outbox) maySend(chat channels.Chat, inbound int64) bool {
	q, served := box.chats[chat]
	return box.enqueuing[chat] > 0 || served && !q.idle && (q.sending == nil || q.sending.Inbound == inbound)
}

// startRound returns the delivery to start with, if one is marked as sending. It reports false, and
// ends the chat's goroutine, when there is nothing to send.
func (box *Outbox) startRound(ctx context.Context, chat channels.Chat, q *chatSender) (first *store.Delivery, ok bool) {
	box.mu.Lock()
	defer box.mu.Unlock()
	first, q.first = q.first, nil
	if q.more && ctx.Err() == nil {
		q.more = false
		return first, true
	}
	delete(box.chats, chat)
	box.loads.of(chat.Channel).served--
	box.changed.Broadcast()
	return first, false
}

// nextDelivery returns the next delivery, when its time has come. While a delivery that can be
// overtaken waits for its time, newer ones are returned. A silent one that gives way waits only
// until an answer is behind it.
func (box *Outbox) nextDelivery(ctx context.Context, chat channels.Chat, q *chatSender) (store.Delivery, bool) {
	for {
		asked := time.Now()
		isEarlier := func(d store.Delivery) bool { return asked.Add(-d.Age).Before(box.reactions.began) }
		delivery, ok, err := box.o.Store.NextDelivery(ctx, chat, 0)
		wait := firstBackoff
		var second store.Delivery // waits behind one that gives way
		switch {
		case err == nil && (ok || delivery.Wait == 0), ctx.Err() != nil, errors.Is(err, store.ErrFenced):
			q.earlier = isEarlier(delivery)
			return delivery, ok && err == nil
		case err == nil && delivery.Wait > maxWait:
			box.storeResult(ctx, delivery, store.Settlement{
				State: store.Pending, Reason: delivery.Err,
				Doubtful: delivery.Doubtful,
			})
			continue
		case err == nil && canBeOvertaken(delivery.Out) && box.isSuperfluous(ctx, delivery):
			box.leaveOut(ctx, delivery)
			continue
		case err == nil && delivery.ID == q.givesWay && isAwaited(ctx, box.o.Store, delivery):
			q.givesWay = 0
			box.storeResult(ctx, delivery, store.Settlement{State: store.Pending, Doubtful: delivery.Doubtful})
			continue
		case err == nil && canBeOvertaken(delivery.Out):
			if second, ok, err = box.o.Store.NextDelivery(ctx, chat, delivery.ID); err == nil && ok {
				q.earlier = isEarlier(second)
				return second, true
			}
			if wait = delivery.Wait; second.Wait > 0 {
				wait = min(wait, second.Wait)
			}
		case err == nil: // its time has not come
			wait = delivery.Wait
		default:
			box.o.Log.Error("cannot read the outbox, will retry", zap.Stringer("chat", chat), zap.Error(err))
		}
		var newer <-chan struct{}
		if delivery.Out.GivesWay {
			newer = q.woken
		}
		box.setIdle(q, true, canBeOvertaken(delivery.Out) && second.ID == 0)
		rested := backlog{box, chat.Channel}.rest(ctx, wait, newer)
		box.setIdle(q, false, false)
		if !rested {
			return delivery, false
		}
	}
}

// setIdle records whether a chat waits for the time of a delivery, and whether of one that can be
// overtaken.
func (box *Outbox) setIdle(q *chatSender, idle, overtakable bool) {
	box.mu.Lock()
	defer box.mu.Unlock()
	q.idle, q.overtakable = idle, overtakable
	box.changed.Broadcast()
}

// isSuperfluous reports whether a newer message that waits to be sent to the same chat notifies
// people, so that a delivery that gives way need not do that, too. A silent one is there for its
// text.
func (box *Outbox) isSuperfluous(ctx context.Context, delivery store.Delivery) bool {
	if delivery.Out.Silent {
		return false
	}
	newest, err := box.o.Store.Undelivered(ctx, delivery.Out.Chat, maxLookedAt)
	return err == nil && slices.ContainsFunc(newest, func(n store.Delivery) bool {
		return n.State == store.Pending && n.ID > delivery.ID && !n.Out.Silent && !n.Out.Unchanged && n.Out.Replace == ""
	})
}

// isAwaited reports whether an answer waits behind a delivery of its chat.
func isAwaited(ctx context.Context, s Store, delivery store.Delivery) bool {
	newest, err := s.Undelivered(ctx, delivery.Out.Chat, maxLookedAt)
	return err == nil && slices.ContainsFunc(newest, func(n store.Delivery) bool {
		return n.State == store.Pending && n.ID > delivery.ID && !n.Out.GivesWay && !n.Out.Unchanged
	})
}

// callOrGiveWay makes the call of a delivery. A silent one that gives way is made urgent if an
// answer waits behind it: otherwise silent messages of other chats would be sent before that
// answer.
func (box *Outbox) callOrGiveWay(ctx context.Context, ch channels.Channel, delivery store.Delivery) (
	receipt channels.Receipt, safe bool, err error,
) {
	receipt, safe, err = box.fetchAndCall(ctx, ch, delivery)
	if !delivery.Out.GivesWay || canBeOvertaken(delivery.Out) || !errors.Is(err, channels.ErrBusy) {
		return receipt, safe, err
	}
	if isAwaited(ctx, box.o.Store, delivery) {
		delivery.Out.Urgent = true
		return box.fetchAndCall(ctx, ch, delivery)
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	if q := box.chats[delivery.Out.Chat]; q != nil {
		q.givesWay = delivery.ID
	}
	return receipt, safe, err
}

// leaveOut ends a superfluous delivery. It has no content.
func (box *Outbox) leaveOut(ctx context.Context, delivery store.Delivery) (more bool) {
	return box.storeResult(ctx, delivery, store.Settlement{
		State:  store.Sent,
		Reason: "left out: a newer message notifies people instead",
	})
}
