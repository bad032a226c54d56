package outbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// setAside decides about a delivery that is to be tried again. It reports true if the network has
// failed to carry it out for too long although it carries out other calls: the chat is told, and
// the delivery is to be stored as failed. Otherwise it returns the wait before the next try.
func (box *Outbox) setAside(ctx context.Context, delivery store.Delivery, err error, after time.Duration) (
	bool, time.Duration,
) {
	var se *channels.SendError
	if !errors.As(err, &se) || !se.Unknown || se.Partial || ctx.Err() != nil {
		return false, after
	}
	stuck, left := box.networks.countFailure(delivery)
	if !stuck {
		if left > 0 {
			after = min(after, left)
		}
		return false, after
	}
	// Before the delivery is settled: a crash in between tries it once more.
	notice := setAsideNotice(box.o.Words, delivery)
	if notice == nil {
		return true, 0
	}
	if inbound, ok, err := box.o.Store.Inbound(ctx, delivery.Inbound); err == nil && ok && inbound.In.Chat == notice.Chat {
		notice.ReplyTo = inbound.In.ID // also for a later part of the answer, which is no reply
	}
	if err := box.Post(ctx, notice); err != nil {
		box.o.Log.Warn("chat not told about a failed message", zap.Stringer("chat", delivery.Out.Chat), zap.Error(err))
		return false, after
	}
	return true, 0
}

// setAsideNotice returns the message that tells a chat about a delivery that was set aside; nil for
// such a notice itself, a delivery without content, and one to an outsider.
func setAsideNotice(catalogue *words.Catalogue, delivery store.Delivery) *Message {
	out := delivery.Out
	isNotice := func(b channels.Button) bool { return press.IsResend(b.Data) }
	if canBeOvertaken(out) || delivery.Inbound < 0 || slices.ContainsFunc(out.Buttons, isNotice) {
		return nil
	}
	w := catalogue.For(out.Language)
	return &Message{About: delivery.Inbound, Message: channels.Message{
		Chat: out.Chat, Kind: channels.Answer, ReplyTo: out.ReplyTo, Language: out.Language,
		Text:    w.Text(words.SetAside, int(stuckAfter.Minutes())),
		Buttons: []channels.Button{{Label: w.Text(words.ButtonTryAgain), Data: press.Resend(delivery.ID)}},
	}}
}
