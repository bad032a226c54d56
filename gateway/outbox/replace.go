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
func (o *Outbox) call(ctx context.Context, ch channels.Channel, p store.Delivery) (receipt channels.Receipt, safe bool, err error) {
	r, canReplace := replacer(ch, p.Out)
	switch {
	case p.Out.Replace == "":
		receipt, err = ch.Send(ctx, p.Out)
		return receipt, repeatable(ch), err
	case canReplace && p.Out.Unchanged:
		return channels.Receipt{ID: p.Out.Replace}, true, nil
	}
	gone := false
	if canReplace {
		superseded, err := o.isSuperseded(ctx, p)
		if err != nil {
			return channels.Receipt{}, true, err
		}
		if !superseded {
			out := p.Out
			out.Repeat = false // a repeated edit is invisible
			if receipt, err = r.Replace(ctx, out.Replace, out); err == nil || !mustSendAsNew(p, err) {
				return receipt, true, err
			}
			gone = errors.Is(err, channels.ErrGone)
		}
	}
	receipt, err = o.sendAsNew(ctx, ch, p, gone)
	return receipt, repeatable(ch), err
}

// replacer returns the channel as a Replacer, if it can replace a message by out.
func replacer(ch channels.Channel, out channels.Outgoing) (channels.Replacer, bool) {
	r, ok := ch.(channels.Replacer)
	return r, ok && out.Replace != "" && len(out.Media) == 0
}

// mustSendAsNew reports whether a message that could not replace another one is to be sent as a new
// message: the other one is gone, or cannot be edited soon.
func mustSendAsNew(p store.Delivery, err error) bool {
	var se *channels.SendError
	switch {
	case errors.Is(err, channels.ErrGone):
		return true
	case errors.Is(err, channels.ErrBusy): // a new message would wait as long
		return false
	case !errors.As(err, &se):
		return false
	}
	return se.Permanent || se.After > editWait || se.After > 0 && p.Tries >= 2
}

// sendAsNew sends a message that cannot replace another one, and then removes the other one. That
// one is recorded as transient before: after a crash it is never edited again, because the new
// message may exist, and it is removed by its record. gone says that it no longer exists.
func (o *Outbox) sendAsNew(ctx context.Context, ch channels.Channel, p store.Delivery, gone bool) (channels.Receipt, error) {
	if p.Out.Repeat && o.o.AtMostOnce() { // it may have been sent as a new message before a crash
		return channels.Receipt{}, &channels.SendError{Err: errors.New("it may have been sent before"), Unknown: true}
	}
	replaced := store.Transient{Chat: p.Out.Chat, ID: p.Out.Replace, Inbound: p.Inbound}
	if !gone {
		o.recordTransient(ctx, replaced)
	}
	receipt, err := ch.Send(ctx, p.Out)
	if err == nil && !gone {
		o.Remove(replaced)
	}
	return receipt, err
}

// keepReplaced has the message stay that a delivery was to replace, because it may be all that the
// chat has of the answer. Its record is dropped before the result of the delivery is stored, so
// that no crash leaves a record by which the next start would remove it.
func (o *Outbox) keepReplaced(ctx context.Context, p store.Delivery) {
	b := store.Transient{Chat: p.Out.Chat, ID: p.Out.Replace, Inbound: p.Inbound}
	if err := o.o.Store.DropTransient(context.WithoutCancel(ctx), b); err != nil {
		o.o.Log.Warn("transient message still recorded", zap.Stringer("chat", b.Chat), zap.Error(err))
	}
}

// isSuperseded reports whether an earlier try has given up replacing a message.
func (o *Outbox) isSuperseded(ctx context.Context, p store.Delivery) (bool, error) {
	if p.Tries <= 1 {
		return false, nil
	}
	all, err := o.o.Store.Transients(ctx)
	return slices.ContainsFunc(all, func(b store.Transient) bool { return b.Chat == p.Out.Chat && b.ID == p.Out.Replace }), err
}

// recordTransient stores that a message is transient, so that a later start removes it.
func (o *Outbox) recordTransient(ctx context.Context, b store.Transient) {
	if err := o.o.Store.AddTransient(context.WithoutCancel(ctx), b); err != nil {
		o.o.Log.Warn("transient message not recorded", zap.Stringer("chat", b.Chat), zap.Int64("run", b.Inbound), zap.Error(err))
	}
}
