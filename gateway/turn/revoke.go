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

// errRevoked ends a turn whose sender has lost access. The chat gets no notice, since the bot does
// not answer outsiders.
var errRevoked = errors.New("the sender no longer has access")

// Revoke ends the turn of a person who has lost access. Its further output is dropped.
func (t *Turn) Revoke() {
	if t.revoked.Swap(true) {
		return
	}
	t.log.Info("access revoked, stopping the turn", zap.String("user", t.inbound.In.User.ID))
	t.accepting.end(errRevoked)
	t.Cancel(errRevoked)
}

// senderAdmitted reports whether the sender still has access, which may have been revoked while the
// message waited. An error means that the gateway shut down first.
func (t *Turn) senderAdmitted(untilKilled context.Context) (ok bool, err error) {
	err = retry.Until(untilKilled, func() (err error) {
		ok, err = t.stage.o.Access.AdmitsMessage(context.WithoutCancel(untilKilled), t.inbound.In)
		return err
	}, func(err error) { t.log.Error("cannot look up access, will retry", zap.Error(err)) })
	return ok, err
}

// rejectRevoked ends a turn that must not start.
func (t *Turn) rejectRevoked(untilKilled context.Context) {
	t.log.Info("access revoked, dropping the message", zap.String("user", t.inbound.In.User.ID))
	t.audit(audit.Record{Event: audit.Denied, Decision: audit.Revoked})
	t.storeOutcome(untilKilled, store.Dead, store.Outcome{Status: store.Revoked})
}

// wasRevoked reports whether the sender has lost access. It asks the store about turns with
// injected messages, which may have ended before Revoke was called: the messages of other people
// must not be dropped with such a turn.
func (t *Turn) wasRevoked(untilKilled context.Context) bool {
	if t.revoked.Load() || t.InjectedCount() == 0 {
		return t.revoked.Load()
	}
	inbounds, _, err := t.stage.o.Store.Dismissed(context.WithoutCancel(untilKilled))
	return err == nil && slices.Contains(inbounds, t.inbound.ID)
}
