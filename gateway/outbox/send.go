package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

const (
	// CallTimeout ends a network call that hangs; what became of it is then unknown. Files get as
	// much longer as a slow line needs for them, at slowLine bytes a second.
	CallTimeout, slowLine = 2 * time.Minute, 64 << 10
	// giveUp is how long a message is tried. Who has been away for longer will not miss it.
	giveUp = 24 * time.Hour
	// leastTries are made however old a message is: we may have been down all the time, or the
	// clock was wrong when it was stored.
	leastTries = 20
	// firstPause and longestPause bound the wait between tries when the network does not say how
	// long.
	firstPause, longestPause = time.Second, 5 * time.Minute
	// longestWait bounds it in any case: a time further off was set by a clock that was wrong.
	longestWait = time.Hour
)

// doubt leads what people read of a send of which nobody knows whether it happened.
const doubt = "outcome unknown"

// send makes one try and records what became of it. It reports whether the chat has more to send.
func (o *Outbox) send(ctx context.Context, p store.Delivery) (more bool) {
	ch, ok := o.o.Channels[p.Out.Chat.Channel]
	if !ok {
		const reason = "the channel is no longer enabled"
		o.o.Log.Error("message not delivered", zap.Stringer("chat", p.Out.Chat), zap.Int64("id", p.ID), zap.String("error", reason))
		defer o.o.Events.Report(events.Event{Type: events.Failed, Chat: p.Out.Chat, Inbound: p.Inbound})
		return o.settle(ctx, p, store.Settlement{State: store.Failed, Reason: reason, Doubtful: p.Doubtful})
	}
	p.Out.Key = p.Key()
	p.Out.Repeat = p.Doubtful && !repeatable(ch)
	callCtx, cancel := context.WithTimeout(ctx, patience(p.Out))
	o.calling(p.ID, cancel)
	receipt, safe, err := o.fetchAndCall(callCtx, ch, p)
	o.calling(p.ID, nil)
	cancel()
	state, after := o.judge(ctx, safe, p, err)
	defer o.o.Events.Report(events.Event{Type: outcomes[state], Chat: p.Out.Chat, Inbound: p.Inbound})
	if state == store.Sent {
		return o.settle(ctx, p, store.Settlement{State: state, Receipt: receipt.ID})
	}
	reason, doubtful := failure(err, safe, p.Doubtful)
	log := o.o.Log.With(zap.Stringer("chat", p.Out.Chat), zap.Int64("id", p.ID), zap.Int("try", p.Tries), zap.Error(err))
	switch {
	case state == store.Failed:
		log.Error("message not delivered")
	case state == store.Unknown:
		log.Warn("message may not have been delivered")
	case p.Err != reason: // once an error, not once a try
		log.Warn("send failed, will retry", zap.Duration("after", after))
	}
	return o.settle(ctx, p, store.Settlement{State: state, Reason: reason, Doubtful: doubtful, After: after})
}

// fetchAndCall gives a delivery to its network, once its files are on this machine.
func (o *Outbox) fetchAndCall(ctx context.Context, ch channels.Channel, p store.Delivery) (channels.Receipt, bool, error) {
	p.Out.Media = slices.Clone(p.Out.Media)
	for i := range p.Out.Media {
		f := &p.Out.Media[i]
		if f.Path == "" {
			continue
		}
		path, err := o.o.Store.Fetch(ctx, f.Path)
		if errors.Is(err, store.ErrState) { // there is no such name, and never will be
			err = &channels.SendError{Err: err, Permanent: true}
		}
		if err != nil {
			return channels.Receipt{}, false, err
		}
		f.Path = path
	}
	return o.call(ctx, ch, p)
}

// outcomes are the events by which observers learn what a send came to.
var outcomes = map[store.State]events.Type{
	store.Sent: events.Sent, store.Pending: events.Retrying, store.Failed: events.Failed, store.Unknown: events.Unknown,
}

// failure is the stored reason of a send that failed, and whether the send, or one before it, may
// have been carried out. safe says that doing it again has no second effect, before that an earlier
// try may have been carried out.
func failure(err error, safe, before bool) (reason string, doubtful bool) {
	reason = err.Error()
	for strings.HasPrefix(reason, doubt) {
		reason = strings.TrimLeft(strings.TrimPrefix(reason, doubt), ": ")
	}
	var se *channels.SendError
	switch {
	case errors.As(err, &se) && se.Unknown && !se.Permanent && !safe:
		return doubt + ": " + reason, true
	case before: // that this try was refused does not undo the earlier one
		return doubt + " of an earlier try; then: " + reason, true
	}
	return reason, false
}

// judge says what a send's error means for the delivery. safe says that doing it again has no
// second effect.
func (o *Outbox) judge(ctx context.Context, safe bool, p store.Delivery, err error) (store.State, time.Duration) {
	var se *channels.SendError
	known := errors.As(err, &se)
	switch {
	case err == nil:
		return store.Sent, 0
	case known && se.Permanent, p.Tries >= leastTries && p.Age > giveUp:
		return store.Failed, 0
	case known && se.Unknown && !safe && o.o.AtMostOnce():
		return store.Unknown, 0
	case known && se.After > 0:
		return store.Pending, min(se.After, longestWait)
	case ctx.Err() != nil:
		return store.Pending, 0
	}
	pause := firstPause << min(max(p.Tries-1, 0), 10)
	return store.Pending, min(pause, longestPause)
}

// settle records a send until the store takes it: to forget a send that happened would repeat it.
// It reports whether the chat has more.
func (o *Outbox) settle(ctx context.Context, p store.Delivery, end store.Settlement) (more bool) {
	_ = retry.Until(ctx, func() (err error) {
		if more, err = o.o.Store.Settle(context.WithoutCancel(ctx), p.ID, end); errors.Is(err, store.ErrState) {
			more, err = true, nil // settled already; better look
		}
		return err
	}, func(err error) {
		o.o.Log.Error("send not recorded, will retry", zap.Int64("id", p.ID), zap.Error(err))
	})
	return more
}

// calling records how the network call of a delivery can be ended, or with nil that it has ended.
func (o *Outbox) calling(id int64, end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if end == nil {
		delete(o.calls, id)
	} else {
		o.calls[id] = end
	}
}

// Sending reports whether a network is being called for a delivery.
func (o *Outbox) Sending() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.calls) > 0
}

// Abort ends the network calls of deliveries that the store will not have repeated.
func (o *Outbox) Abort(deliveries []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range deliveries {
		if end := o.calls[id]; end != nil {
			end()
		}
	}
}

// patience is how long a network call may take.
func patience(out channels.Outgoing) time.Duration {
	var size int64
	for _, f := range out.Media {
		size += f.Size
	}
	return CallTimeout + time.Duration(size/slowLine)*time.Second
}

// RetryAfter is how long a network asks to wait.
func RetryAfter(err error) time.Duration {
	var se *channels.SendError
	if errors.As(err, &se) && !se.Permanent {
		return se.After
	}
	return 0
}

// repeatable reports whether a channel's network carries out a call once, however often it is made.
func repeatable(ch channels.Channel) bool {
	r, ok := ch.(channels.Repeater)
	return ok && r.Repeatable()
}

// Recover cleans up after a gateway that died: messages that were there only while a turn ran are
// removed, and the deliveries that were adopted from it are resolved. It must have returned before
// anything is sent, and may be called again when it fails.
func (o *Outbox) Recover(ctx context.Context, adopted store.Adopted) error {
	for _, b := range adopted.Transients {
		o.Remove(b)
	}
	for _, p := range adopted.Deliveries {
		if err := o.resolve(ctx, p); err != nil && !errors.Is(err, store.ErrState) {
			return fmt.Errorf("resolve delivery %d: %w", p.ID, err)
		}
	}
	return nil
}

// resolve decides about a call that was under way. Where repeating is safe it is repeated;
// otherwise the settings say which way to err.
func (o *Outbox) resolve(ctx context.Context, p store.Delivery) error {
	end := store.Settlement{State: store.Pending, Reason: doubt + ": the gateway died while sending", Doubtful: true}
	ch := o.o.Channels[p.Out.Chat.Channel]
	if _, edits := replacer(ch, p.Out); o.o.AtMostOnce() && !edits && (ch == nil || !repeatable(ch)) {
		o.o.Log.Warn("message may not have been delivered", zap.Stringer("chat", p.Out.Chat), zap.Int64("id", p.ID))
		end.State = store.Unknown
	}
	_, err := o.o.Store.Settle(ctx, p.ID, end)
	return err
}
