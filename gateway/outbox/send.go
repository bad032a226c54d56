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
	// CallTimeout bounds a network call together with its waits for the rate limit; its outcome is
	// then unknown. Files get more time, for a slow connection of slowLine bytes per second. A
	// channel bounds the requests themselves: see httpclient.CallTime.
	CallTimeout, slowLine = 2 * time.Minute, 64 << 10
	// giveUpAfter is how long a message is tried. Older messages are of little use.
	giveUpAfter = 24 * time.Hour
	// minTries are made even for old messages: the gateway may have been down all the time, or the
	// clock was wrong when the message was stored.
	minTries = 20
	// firstBackoff and maxBackoff bound the wait between tries, unless the network says how long to
	// wait.
	firstBackoff, maxBackoff = time.Second, 5 * time.Minute
	// maxWait bounds all waits: a later time was set by a wrong clock. minWait keeps a channel that
	// asks for less than the store's precision from being called without a pause.
	maxWait, minWait = time.Hour, time.Millisecond
)

// unknownOutcome is the prefix of the stored reason of a send whose outcome is unknown.
const unknownOutcome = "outcome unknown"

// trySend makes one try to send a delivery and stores the result. It reports whether the chat has
// more to send.
func (box *Outbox) trySend(ctx context.Context, delivery store.Delivery) (more bool) {
	ch, ok := box.o.Channels[delivery.Out.Chat.Channel]
	if !ok {
		const reason = "the channel is no longer enabled"
		box.o.Log.Error("message not delivered", zap.Stringer("chat", delivery.Out.Chat), zap.Int64("id", delivery.ID),
			zap.String("error", reason))
		defer box.o.Events.Report(events.Event{Type: events.Failed, Chat: delivery.Out.Chat, Inbound: delivery.Inbound})
		return box.storeResult(ctx, delivery, store.Settlement{
			State: store.Failed, Reason: reason,
			Doubtful: delivery.Doubtful,
		})
	}
	if box.mustNotRepeat(ch, delivery) {
		box.o.Log.Warn("message may not have been delivered", zap.Stringer("chat", delivery.Out.Chat),
			zap.Int64("id", delivery.ID))
		defer box.o.Events.Report(events.Event{Type: events.Unknown, Chat: delivery.Out.Chat, Inbound: delivery.Inbound})
		return box.storeResult(ctx, delivery, store.Settlement{State: store.Unknown, Reason: delivery.Err, Doubtful: true})
	}
	delivery.Out.Key = delivery.Key()
	delivery.Out.Repeat = delivery.Doubtful && !repeatable(ch)
	if box.o.Record != nil {
		box.o.Record.Sending(delivery)
	}
	callCtx, cancel := context.WithTimeout(channels.WithGuard(ctx, box.o.Guard), callTimeout(delivery.Out))
	box.calls.set(delivery.ID, cancel)
	var receipt channels.Receipt
	var safe bool
	err := box.Call(delivery.Out.Chat, func() (err error) {
		receipt, safe, err = box.callOrGiveWay(callCtx, ch, delivery)
		return err
	})
	box.calls.set(delivery.ID, nil)
	cancel()
	state, after := box.o.classify(ctx, safe, delivery, err)
	stuck := false
	if state == store.Pending {
		if stuck, after = box.setAside(ctx, delivery, err, after); stuck {
			state = store.Failed
		}
	}
	box.calls.setPartial(delivery.ID, state, err)
	defer box.o.Events.Report(events.Event{Type: outcomes[state], Chat: delivery.Out.Chat, Inbound: delivery.Inbound})
	if state == store.Sent {
		more = box.storeResult(ctx, delivery, store.Settlement{State: state, Receipt: receipt.ID})
		if !delivery.Out.Live {
			box.screens.moveDown(ctx, delivery.Out.Chat)
		}
		return more
	}
	if state == store.Pending && canBeOvertaken(delivery.Out) && box.isSuperfluous(ctx, delivery) {
		return box.leaveOut(ctx, delivery)
	}
	reason, doubtful := failureReason(err, safe, delivery.Doubtful)
	log := box.o.Log.With(zap.Stringer("chat", delivery.Out.Chat), zap.Int64("id", delivery.ID),
		zap.Int("try", delivery.Tries), zap.Error(err))
	switch {
	case state == store.Failed:
		log.Error("message not delivered")
	case state == store.Unknown:
		log.Warn("message may not have been delivered")
	case delivery.Out.GivesWay && after > 0: // as often as the network is busy
		log.Debug("message gives way to answers", zap.Duration("after", after))
	case delivery.Err != reason: // once per error, not once per try
		log.Warn("send failed, will retry", zap.Duration("after", after))
	}
	return box.storeResult(ctx, delivery, store.Settlement{
		State: state, Reason: reason, Doubtful: doubtful, After: after,
		Resendable: stuck,
	})
}

// fetchAndCall fetches the files of a delivery to this machine and makes the network call.
func (box *Outbox) fetchAndCall(ctx context.Context, ch channels.Channel, delivery store.Delivery) (
	channels.Receipt, bool, error,
) {
	delivery.Out.Media = slices.Clone(delivery.Out.Media)
	for i := range delivery.Out.Media {
		f := &delivery.Out.Media[i]
		if f.Path == "" {
			continue
		}
		path, err := box.o.Store.Fetch(ctx, f.Path)
		if errors.Is(err, store.ErrState) { // there is no such file, and never will be
			err = &channels.SendError{Err: err, Permanent: true}
		}
		if err != nil {
			return channels.Receipt{}, false, err
		}
		f.Path = path
	}
	return box.call(ctx, ch, delivery)
}

// outcomes are the events about the results of sends.
var outcomes = map[store.State]events.Type{
	store.Sent: events.Sent, store.Pending: events.Retrying, store.Failed: events.Failed, store.Unknown: events.Unknown,
}

// failureReason returns the stored reason of a failed send, and whether this send or an earlier one
// may have been carried out. safe says that repeating has no second effect; before says that the
// outcome of an earlier try is unknown.
func failureReason(err error, safe, before bool) (reason string, doubtful bool) {
	reason = err.Error()
	for strings.HasPrefix(reason, unknownOutcome) {
		reason = strings.TrimLeft(strings.TrimPrefix(reason, unknownOutcome), ": ")
	}
	var se *channels.SendError
	switch {
	case errors.As(err, &se) && se.Unknown && !se.Permanent && !safe:
		return unknownOutcome + ": " + reason, true
	case se != nil && se.Partial && !safe:
		return reason, true
	case before: // that this try was refused does not undo the earlier one
		return unknownOutcome + " of an earlier try; then: " + reason, true
	}
	return reason, false
}

// classify returns the new state of a delivery after a send, and the wait before the next try. safe
// says that repeating has no second effect.
func (o Options) classify(ctx context.Context, safe bool, delivery store.Delivery, err error) (
	store.State, time.Duration,
) {
	var se *channels.SendError
	known := errors.As(err, &se)
	switch {
	case err == nil:
		return store.Sent, 0
	case known && se.Permanent, delivery.Tries >= minTries && delivery.Age > giveUpAfter:
		return store.Failed, 0
	case known && se.Unknown && !safe && o.AtMostOnce():
		return store.Unknown, 0
	case known && se.After > 0:
		return store.Pending, max(min(se.After, maxWait), minWait)
	case ctx.Err() != nil:
		return store.Pending, 0
	}
	pause := firstBackoff << min(max(delivery.Tries-1, 0), 10)
	return store.Pending, min(pause, maxBackoff)
}

// storeResult stores the result of a send and retries until the store accepts it: a lost result
// would repeat the send. It reports whether the chat has more to send.
func (box *Outbox) storeResult(ctx context.Context, delivery store.Delivery, end store.Settlement) (more bool) {
	if delivery.Out.Replace != "" && (end.State == store.Failed || end.State == store.Unknown) {
		defer box.keepReplaced(ctx, delivery)()
	}
	if end.State != store.Pending {
		if box.o.Record != nil {
			box.o.Record.Settled(delivery, end)
		}
		box.networks.forgetFailures(delivery.ID)
		defer box.replacements.forget(messageID{delivery.Out.Chat, delivery.Out.Replace})
	}
	_ = retry.Until(ctx, func() (err error) {
		more, err = box.o.Store.Settle(context.WithoutCancel(ctx), delivery.ID, end)
		switch {
		case errors.Is(err, store.ErrFenced): // the member that has it sends the rest
			box.o.Log.Info("another member has the delivery", zap.Stringer("chat", delivery.Out.Chat),
				zap.Int64("id", delivery.ID))
			return nil
		case errors.Is(err, store.ErrState):
			more, err = true, nil // its result was stored already; the caller looks for more
		}
		return err
	}, func(err error) {
		box.o.Log.Error("result of send not stored, will retry", zap.Int64("id", delivery.ID), zap.Error(err))
	})
	return more
}

// callTimeout returns how long a network call may take.
func callTimeout(out channels.Outgoing) time.Duration {
	var size int64
	for _, f := range out.Media {
		size += f.Size
	}
	return CallTimeout + time.Duration(size/slowLine)*time.Second
}

// RetryAfter returns how long the network asks to wait.
func RetryAfter(err error) time.Duration {
	var se *channels.SendError
	if errors.As(err, &se) && !se.Permanent {
		return se.After
	}
	return 0
}

// repeatable reports whether a channel's network carries out a repeated call only once, by an
// idempotency key.
func repeatable(ch channels.Channel) bool {
	r, ok := ch.(channels.Repeater)
	return ok && r.Repeatable()
}

// Recover cleans up after a crash: it resolves the deliveries that were being sent, and removes
// transient messages. It must return before anything is sent, and may be called again after an
// error.
func (box *Outbox) Recover(ctx context.Context, adopted store.Adopted) error {
	for _, delivery := range adopted.Deliveries {
		if err := box.resolve(ctx, delivery); err != nil && !errors.Is(err, store.ErrState) {
			return fmt.Errorf("resolve delivery %d: %w", delivery.ID, err)
		}
	}
	for _, transient := range adopted.Transients { // now that the deliveries which may replace them are pending
		box.Remove(transient)
	}
	return nil
}

// resolve decides about a delivery that was being sent during a crash. It is repeated where that is
// safe; otherwise the setting delivery decides.
func (box *Outbox) resolve(ctx context.Context, delivery store.Delivery) error {
	end := store.Settlement{
		State: store.Pending, Reason: unknownOutcome + ": the gateway died while sending",
		Doubtful: true,
	}
	if box.mustNotRepeat(box.o.Channels[delivery.Out.Chat.Channel],
		store.Delivery{ID: delivery.ID, Out: delivery.Out, Doubtful: true}) {
		box.o.Log.Warn("message may not have been delivered", zap.Stringer("chat", delivery.Out.Chat),
			zap.Int64("id", delivery.ID))
		end.State = store.Unknown
		box.reactions.addEarlier(ctx, delivery)
	}
	_, err := box.o.Store.Settle(ctx, delivery.ID, end)
	return err
}

// mustNotRepeat reports whether a delivery may have been carried out, and may not be repeated. It
// may be if only the rest of it is sent.
func (box *Outbox) mustNotRepeat(ch channels.Channel, delivery store.Delivery) bool {
	_, edits := replacer(ch, delivery.Out)
	if !delivery.Doubtful || !box.o.AtMostOnce() || edits || ch != nil && repeatable(ch) {
		return false
	}
	return !box.calls.isPartial(delivery.ID)
}
