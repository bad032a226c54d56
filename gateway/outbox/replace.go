package outbox

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// editWait is how long a message waits until it may take another one's place. Rather than wait
// longer, or again, it is sent as a new one.
const editWait = 3 * time.Second

// call gives a delivery to its network. safe says that doing the same again has no second effect.
func (o *Outbox) call(ctx context.Context, ch channels.Channel, p store.Delivery) (receipt channels.Receipt, safe bool, err error) {
	safe = repeatable(ch)
	if p.Out.Replace == "" {
		receipt, err = ch.Send(ctx, p.Out)
		return receipt, safe, err
	}
	r, ok := replacer(ch, p.Out)
	if !ok {
		if receipt, err = ch.Send(ctx, p.Out); err == nil {
			o.displace(ctx, p)
		}
		return receipt, safe, err
	}
	out := p.Out
	out.Repeat = false // to edit again is no repetition that anybody sees
	if receipt, err = r.Replace(ctx, out.Replace, out); err == nil || !o.makeWay(ctx, r, p, err) {
		return receipt, true, err
	}
	if p.Out.Repeat && o.o.AtMostOnce() { // it may be that it was sent as a new one before we died
		return channels.Receipt{}, false, &channels.SendError{Err: err, Unknown: true}
	}
	receipt, err = ch.Send(ctx, p.Out)
	return receipt, safe, err
}

// replacer is a channel that can make out of the message whose place it takes.
func replacer(ch channels.Channel, out channels.Outgoing) (channels.Replacer, bool) {
	r, ok := ch.(channels.Replacer)
	return r, ok && out.Replace != "" && len(out.Media) == 0
}

// makeWay reports whether a message that could not take another one's place is to be sent as a new
// one: the other is gone, or cannot be changed, or not soon, and is then removed first. Were we to
// die between, the next try would find it gone.
func (o *Outbox) makeWay(ctx context.Context, r channels.Replacer, p store.Delivery, err error) bool {
	var se *channels.SendError
	switch {
	case errors.Is(err, channels.ErrGone):
		return true
	case !errors.As(err, &se) || !se.Permanent && se.After <= editWait && (se.After == 0 || p.Tries < 2):
		return false
	}
	err = r.Remove(ctx, p.Out.Chat, p.Out.Replace)
	return err == nil || errors.As(err, &se) && se.Permanent
}

// displace removes the message whose place a new one has taken. It is recorded as transient before
// the new one is recorded as sent: only one of the two can have the place.
func (o *Outbox) displace(ctx context.Context, p store.Delivery) {
	b := store.Transient{Chat: p.Out.Chat, ID: p.Out.Replace, Inbound: p.Inbound}
	o.record(ctx, b)
	o.Remove(b)
}

// record stores that a message is there only while a turn runs, so that a later start removes it.
func (o *Outbox) record(ctx context.Context, b store.Transient) {
	if err := o.o.Store.AddTransient(context.WithoutCancel(ctx), b); err != nil {
		o.o.Log.Warn("transient message not recorded", zap.Stringer("chat", b.Chat), zap.Int64("run", b.Inbound), zap.Error(err))
	}
}
