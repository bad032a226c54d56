package gateway

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// editWait is how long a message waits until it may take another one's place. Rather than wait longer, or again, it is sent as a new one.
const editWait = 3 * time.Second

// hand gives a parcel to its network. safe says that doing the same again has no second effect.
func (s *senders) hand(ctx context.Context, ch channels.Channel, p store.Parcel) (receipt channels.Receipt, safe bool, err error) {
	safe = repeatable(ch)
	if p.Out.Replace == "" {
		receipt, err = ch.Send(ctx, p.Out)
		return receipt, safe, err
	}
	r, ok := replacer(ch, p.Out)
	if !ok {
		if receipt, err = ch.Send(ctx, p.Out); err == nil {
			s.displace(p)
		}
		return receipt, safe, err
	}
	o := p.Out
	o.Repeat = false // to edit again is no repetition that anybody sees
	if receipt, err = r.Replace(ctx, o.Replace, o); err == nil || !s.giveWay(ctx, r, p, err) {
		return receipt, true, err
	}
	if p.Out.Repeat && s.g.set().AtMostOnce { // it may be that it was sent as a new one before we died
		return channels.Receipt{}, false, &channels.SendError{Err: err, Unknown: true}
	}
	receipt, err = ch.Send(ctx, p.Out)
	return receipt, safe, err
}

// replacer is a channel that can make o of the message whose place it takes.
func replacer(ch channels.Channel, o channels.Outgoing) (channels.Replacer, bool) {
	r, ok := ch.(channels.Replacer)
	return r, ok && o.Replace != "" && len(o.Media) == 0
}

// giveWay reports whether a message that could not take another one's place is to be sent as a new one: the other is gone, or cannot be
// changed, or not soon, and is then removed first. Were we to die between, the next try would find it gone.
func (s *senders) giveWay(ctx context.Context, r channels.Replacer, p store.Parcel, err error) bool {
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

// displace removes the message whose place a new one has taken. It is noted before that is recorded as sent: who has the place can only be
// one of the two.
func (s *senders) displace(p store.Parcel) {
	b := store.Bubble{Chat: p.Out.Chat, ID: p.Out.Replace, Item: p.Item}
	if err := s.g.o.Store.AddBubble(context.WithoutCancel(s.ctx), b); err != nil {
		s.g.o.Log.Warn("bubble not noted", zap.Stringer("chat", b.Chat), zap.Error(err))
	}
	s.g.removeBubble(b)
}
