package turn

import (
	"context"
	"errors"
	"slices"

	"go.uber.org/zap"

	"nanobot/gateway/audit"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

// errRevoked ends a turn whose sender has lost access. Nothing is said about it: to a stranger the
// bot has nothing to say.
var errRevoked = errors.New("its sender has no access any more")

// Revoke ends the turn of a person who has lost access. Nothing that it says is taken any more.
func (t *Turn) Revoke() {
	if t.revoked.Swap(true) {
		return
	}
	t.log.Info("access revoked, stopping the turn", zap.String("user", t.inbound.In.User.ID))
	t.listening.end(errRevoked)
	t.Cancel(errRevoked)
}

// admitted reports whether the sender of the turn's message still has access: it may have been
// revoked while the message waited. The error says that we ended before it was known.
func (t *Turn) admitted(killed context.Context) (ok bool, err error) {
	err = retry.Until(killed, func() (err error) {
		ok, err = t.stage.o.Admits(context.WithoutCancel(killed), t.inbound.In.Chat.Channel, t.inbound.In.User.ID)
		return err
	}, func(err error) { t.log.Error("cannot look up access, will retry", zap.Error(err)) })
	return ok, err
}

// dismiss ends a turn that has not begun and must not.
func (t *Turn) dismiss(killed context.Context) {
	t.log.Info("access revoked, the message gets no turn", zap.String("user", t.inbound.In.User.ID))
	t.audit(audit.Record{Event: audit.Denied, Decision: audit.Revoked})
	t.record(killed, store.Dead, store.Outcome{Status: store.Revoked})
}

// wasRevoked reports whether the sender has lost access. A turn that has ended by itself may not
// have been told yet; that matters if others have handed something to it.
func (t *Turn) wasRevoked(killed context.Context) bool {
	if t.revoked.Load() || t.Injected() == 0 {
		return t.revoked.Load()
	}
	inbounds, _, err := t.stage.o.Store.Dismissed(context.WithoutCancel(killed))
	return err == nil && slices.Contains(inbounds, t.inbound.ID)
}
