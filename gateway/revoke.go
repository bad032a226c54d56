package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// errRevoked ends a turn whose sender has lost access. Nothing is said about it: to a stranger the bot has nothing to say.
var errRevoked = errors.New("its sender has no access any more")

// revoke ends the turn. Nothing that it says is taken any more.
func (t *turn) revoke() {
	if t.revoked.Swap(true) {
		return
	}
	t.log.Info("access revoked, stopping the turn", zap.String("user", t.item.In.User.ID))
	t.leave(errRevoked)
	t.cancel(errRevoked)
}

// admitted reports whether the sender of the turn's message still has access: it may have been revoked while the message waited. The error
// says that we ended before it was known.
func (t *turn) admitted() (ok bool, err error) {
	err = retry.Until(t.g.killed, func() (err error) {
		ok, err = t.g.intake.Admits(context.WithoutCancel(t.ctx), t.item.In.Chat.Channel, t.item.In.User.ID)
		return err
	}, func(err error) { t.log.Error("cannot look up access, will retry", zap.Error(err)) })
	return ok, err
}

// dismiss ends a turn that has not begun and must not.
func (t *turn) dismiss() {
	t.log.Info("access revoked, the message gets no turn", zap.String("user", t.item.In.User.ID))
	t.auditRevoked()
	t.record(store.Dead, store.Outcome{Status: store.Revoked})
}

func (t *turn) auditRevoked() {
	t.g.audit(t.item.In, audit.Record{Event: audit.Denied, Decision: audit.Revoked, Run: t.item.ID})
}

// record writes down the end of the turn.
func (t *turn) record(state store.State, o store.Outcome, with ...int64) {
	ctx, took := context.WithoutCancel(t.ctx), time.Since(t.began)
	defer t.g.tell(events.Event{What: events.Ended, Chat: t.item.In.Chat, Item: t.item.ID, Status: o.Status, Took: took})
	_ = retry.Until(t.g.killed, func() error { // else it stays running on disk, for the next start to find
		next, err := t.g.o.Store.Finish(ctx, t.item.ID, state, o, with...)
		if next {
			t.g.lanes.Wake()
		}
		if errors.Is(err, store.ErrState) {
			return nil // ended already
		}
		return err
	}, func(err error) { t.log.Error("end of turn not recorded, will retry", zap.Error(err)) })
}

// recoverRevoked ends a turn that a dead gateway left, if its sender has lost access meanwhile. It reports whether it did.
func (g *Gateway) recoverRevoked(ctx context.Context, item store.Item) (bool, error) {
	ok, err := g.intake.Admits(ctx, item.In.Chat.Channel, item.In.User.ID)
	if err != nil || ok && item.Outcome.Status != store.Revoked {
		return false, err
	}
	g.o.Log.Info("access revoked, the turn that was cut off is dropped", zap.Stringer("chat", item.In.Chat), zap.Int64("run", item.ID))
	if !ok {
		if err := g.o.Store.Dismiss(ctx, store.Person{Channel: item.In.Chat.Channel, User: item.In.User.ID}); err != nil {
			return false, err
		}
	}
	_, err = g.o.Store.Finish(ctx, item.ID, store.Done, store.Outcome{Status: store.Revoked})
	return true, err
}

// wasRevoked reports whether the sender has lost access. A turn that has ended by itself may not have been told yet; that matters if others
// have handed something to it.
func (t *turn) wasRevoked() bool {
	if t.revoked.Load() || t.handed() == 0 {
		return t.revoked.Load()
	}
	items, _, err := t.g.o.Store.Dismissed(context.WithoutCancel(t.ctx))
	return err == nil && slices.Contains(items, t.item.ID)
}

// endRevoked records the end of a turn that was stopped because its sender lost access. What others handed to it waits for turns of its own.
func (t *turn) endRevoked(out terminal.Outcome) {
	t.injected(0) // takes no more
	t.record(store.Done, store.Outcome{
		Status: store.Revoked, ExitCode: out.ExitCode, Signal: out.Signal, Memory: out.Memory, CPU: out.CPU, Trace: t.tracer.text(out.Stderr),
	})
}
