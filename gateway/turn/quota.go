package turn

import (
	"context"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

// admittedByQuotas reports whether the quotas let the turn start. If not, it ends the turn. The
// chat is told of a quota once a day.
func (t *Turn) admittedByQuotas(untilKilled context.Context) (ok bool) {
	if t.stage.o.Admit == nil {
		return true
	}
	var notice string
	if err := retry.Until(untilKilled, func() (err error) {
		ok, notice, err = t.stage.o.Admit(context.WithoutCancel(untilKilled), t.inbound, t.agent, t.words)
		if t.isFenced(err) {
			return nil
		}
		return err
	}, func(err error) { t.log.Error("quotas not checked, will retry", zap.Error(err)) }); err != nil || t.lost.Load() {
		return false
	}
	if notice != "" {
		t.postQuota(untilKilled, notice, ok)
	}
	if !ok {
		t.log.Info("a quota is used up, the message gets no turn")
		t.audit(audit.Record{Event: audit.Denied, Decision: audit.Quota})
		t.stage.o.Events.Report(events.Event{
			Type: events.Dropped, Chat: t.inbound.In.Chat, Inbound: t.inbound.ID, Reason: events.OverQuota,
		})
		t.storeOutcome(untilKilled, store.Dead, store.Outcome{Status: store.OverQuota})
	}
	return ok
}

// postQuota tells the chat of a quota that has refused the message, or silently of one that is
// nearly used up.
func (t *Turn) postQuota(untilKilled context.Context, notice string, admitted bool) {
	m := outbox.Reply(t.inbound, channels.Message{
		Kind: channels.Answer, Text: notice, Notification: channels.Notification{Silent: admitted},
	})
	m.Sequence, m.Once = outbox.QuotaSequence, true
	if err := t.post(untilKilled, m); err != nil {
		t.log.Warn("chat not told of a quota", zap.Error(err))
	}
}
