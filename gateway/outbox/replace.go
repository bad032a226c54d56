package outbox

import (
	"context"
	"errors"
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
	safe = repeatable(ch)
	if p.Out.Replace == "" {
		receipt, err = ch.Send(ctx, p.Out)
		return receipt, safe, err
	}
	r, ok := replacer(ch, p.Out)
	if !ok {
		if receipt, err = ch.Send(ctx, p.Out); err == nil {
			o.removeReplaced(ctx, p)
		}
		return receipt, safe, err
	}
	out := p.Out
	out.Repeat = false // a repeated edit is invisible
	if receipt, err = r.Replace(ctx, out.Replace, out); err == nil || !o.sendAsNew(ctx, r, p, err) {
		return receipt, true, err
	}
	if p.Out.Repeat && o.o.AtMostOnce() { // it may have been sent as a new message before a crash
		return channels.Receipt{}, false, &channels.SendError{Err: err, Unknown: true}
	}
	receipt, err = ch.Send(ctx, p.Out)
	return receipt, safe, err
}

// replacer returns the channel as a Replacer, if it can replace a message by out.
func replacer(ch channels.Channel, out channels.Outgoing) (channels.Replacer, bool) {
	r, ok := ch.(channels.Replacer)
	return r, ok && out.Replace != "" && len(out.Media) == 0
}

// sendAsNew reports whether a message that could not replace another one is to be sent as a new
// message: the other one is gone, or cannot be edited soon, and is then removed first. After a
// crash in between, the next try finds it gone.
func (o *Outbox) sendAsNew(ctx context.Context, r channels.Replacer, p store.Delivery, err error) bool {
	var se *channels.SendError
	switch {
	case errors.Is(err, channels.ErrGone):
		return true
	case errors.Is(err, channels.ErrBusy): // a new message would wait as long, with nothing shown
		return false
	case !errors.As(err, &se) || !se.Permanent && se.After <= editWait && (se.After == 0 || p.Tries < 2):
		return false
	}
	err = r.Remove(ctx, p.Out.Chat, p.Out.Replace)
	return err == nil || errors.As(err, &se) && se.Permanent
}

// removeReplaced removes a message that was replaced by a new one. It is recorded as transient
// before the new message is recorded as sent.
func (o *Outbox) removeReplaced(ctx context.Context, p store.Delivery) {
	b := store.Transient{Chat: p.Out.Chat, ID: p.Out.Replace, Inbound: p.Inbound}
	o.recordTransient(ctx, b)
	o.Remove(b)
}

// recordTransient stores that a message is transient, so that a later start removes it.
func (o *Outbox) recordTransient(ctx context.Context, b store.Transient) {
	if err := o.o.Store.AddTransient(context.WithoutCancel(ctx), b); err != nil {
		o.o.Log.Warn("transient message not recorded", zap.Stringer("chat", b.Chat), zap.Int64("run", b.Inbound), zap.Error(err))
	}
}
