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

// editWait is the longest time that a message waits to replace another one. After that it is sent
// as a new message.
const editWait = 3 * time.Second

// call makes the network call of a delivery. safe reports whether repeating the call has no second
// effect.
func (box *Outbox) call(ctx context.Context, ch channels.Channel, delivery store.Delivery) (
	receipt channels.Receipt, safe bool, err error,
) {
	var live liveScreen
	if delivery.Out.Live {
		var unlock func()
		live, unlock = box.screens.lock(ctx, delivery.Out.Chat)
		defer unlock()
		delivery.Out.Replace = live.ID
		defer func() {
			if err == nil && receipt.ID != live.ID {
				box.screens.recordShown(ctx, live, liveScreen{ID: receipt.ID}, delivery.Out)
			}
		}()
	}
	r, canReplace := replacer(ch, delivery.Out)
	canReplace = canReplace && !live.Below
	switch {
	case delivery.Out.Replace == "":
		receipt, err = ch.Send(ctx, delivery.Out)
		return receipt, repeatable(ch), err
	case canReplace && delivery.Out.Unchanged:
		return channels.Receipt{ID: delivery.Out.Replace}, true, errNoCall
	}
	gone := false
	if canReplace {
		superseded, err := isSuperseded(ctx, box.o.Store, delivery)
		if err != nil {
			return channels.Receipt{}, true, err
		}
		if !superseded {
			out := delivery.Out
			out.Repeat = false // a repeated edit is invisible
			err := box.replacements.unlessRemoved(ctx, messageID{out.Chat, out.Replace}, func(ctx context.Context) (err error) {
				receipt, err = r.Replace(ctx, out.Replace, out)
				if err == nil && out.Live { // before EndScreen can take the message for that of a running turn
					box.screens.recordShown(ctx, live, liveScreen{ID: receipt.ID}, out)
				}
				return err
			})
			if err == nil || !mustSendAsNew(delivery, err) {
				return receipt, true, err
			}
			gone = errors.Is(err, channels.ErrGone)
		}
	}
	receipt, err = box.sendAsNew(ctx, ch, delivery, gone)
	return receipt, repeatable(ch), err
}

// replacer returns the channel as a Replacer, if it can replace a message by out.
func replacer(ch channels.Channel, out channels.Outgoing) (channels.Replacer, bool) {
	r, ok := ch.(channels.Replacer)
	return r, ok && out.Replace != "" && len(out.Media) == 0
}

// mustSendAsNew reports whether a message that could not replace another one is to be sent as a new
// message: the other one is gone, or cannot be edited soon.
func mustSendAsNew(delivery store.Delivery, err error) bool {
	var se *channels.SendError
	switch {
	case errors.Is(err, channels.ErrGone):
		return true
	case errors.Is(err, channels.ErrBusy): // a new message would wait as long
		return false
	case !errors.As(err, &se) || se.Closed:
		return false
	}
	return se.Permanent || se.After > editWait || se.After > 0 && delivery.Tries >= 2
}

// sendAsNew sends a message that cannot replace another one, and then removes the other one. That
// one is recorded as transient before: after a crash it is never edited again, because the new
// message may exist, and it is removed by its record. gone says that it no longer exists.
func (box *Outbox) sendAsNew(ctx context.Context, ch channels.Channel, delivery store.Delivery,
	gone bool,
) (channels.Receipt, error) {
	if delivery.Out.Repeat && box.o.AtMostOnce() { // it may have been sent as a new message before a crash
		return channels.Receipt{}, &channels.SendError{Err: errors.New("it may have been sent before"), Unknown: true}
	}
	replaced := store.Transient{Chat: delivery.Out.Chat, ID: delivery.Out.Replace, Inbound: delivery.Inbound}
	if !gone {
		box.recordTransient(ctx, replaced)
	}
	receipt, err := ch.Send(ctx, delivery.Out)
	if err == nil && !gone {
		box.Remove(replaced)
	}
	return receipt, err
}

// keepReplaced has the message stay that a delivery was to replace and that has failed, without its
// Stop button. The record of the message is dropped before the result of the delivery is stored, so
// that no crash leaves a record by which the next start would remove it.
func (box *Outbox) keepReplaced(ctx context.Context, delivery store.Delivery) (settled func()) {
	transient := store.Transient{Chat: delivery.Out.Chat, ID: delivery.Out.Replace, Inbound: delivery.Inbound}
	if err := box.o.Store.DropTransient(context.WithoutCancel(ctx), transient); err != nil {
		box.o.Log.Warn("transient message still recorded", zap.Stringer("chat", transient.Chat), zap.Error(err))
	}
	return func() { box.Remove(transient) }
}

// isSuperseded reports whether the message that a delivery is to replace is recorded as transient:
// an earlier try has given up replacing it, or it is being removed since before a crash.
func isSuperseded(ctx context.Context, s Store, delivery store.Delivery) (bool, error) {
	all, err := s.Transients(ctx)
	return slices.ContainsFunc(all, func(transient store.Transient) bool {
		return transient.Chat == delivery.Out.Chat && transient.ID == delivery.Out.Replace
	}), err
}

// recordTransient stores that a message is transient, so that a later start removes it. It reports
// whether another member has the turn of the message, and nothing was stored for that reason.
func (box *Outbox) recordTransient(ctx context.Context, transient store.Transient) (fenced bool) {
	err := box.o.Store.AddTransient(context.WithoutCancel(ctx), transient)
	if fenced = errors.Is(err, store.ErrFenced); err != nil && !fenced {
		box.o.Log.Warn("transient message not recorded", zap.Stringer("chat", transient.Chat),
			zap.Int64("run", transient.Inbound), zap.Error(err))
	}
	return fenced
}
