package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// errRevoked ends a turn whose sender has lost access. Nothing is said about it: to a stranger the bot has nothing to say.
var errRevoked = errors.New("its sender has no access any more")

// watchAccess stops the turns of people who lose access, until ctx ends.
func (g *Gateway) watchAccess(ctx context.Context) {
	tick := time.NewTicker(accessEvery)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-tick.C:
			err = errors.Join(g.stopRevoked(ctx), g.releaseRevoked(ctx))
		case <-g.reloaded:
			if err = g.dismissStrangers(ctx); err == nil {
				err = g.stopRevoked(ctx)
			}
		case <-ctx.Done():
			return
		}
		if err != nil && ctx.Err() == nil {
			g.o.Log.Warn("cannot look for revoked access, will retry", zap.Error(err))
			g.recheckAccess()
			retry.Sleep(ctx, time.Second)
		}
	}
}

// recheckAccess has watchAccess look who of those that have work may not talk to the bot any more.
func (g *Gateway) recheckAccess() {
	select {
	case g.reloaded <- struct{}{}:
	default:
	}
}

// dismissStrangers ends the work of people who are not admitted any more, because the settings have changed.
func (g *Gateway) dismissStrangers(ctx context.Context) error {
	for channel, list := range g.set().AllowFrom {
		if slices.Contains(list, "*") {
			continue
		}
		users, err := g.o.Store.BusyUnpaired(ctx, channel)
		if err != nil {
			return err
		}
		for _, user := range users {
			if slices.Contains(list, user) {
				continue
			}
			g.o.Log.Info("access revoked, what is left to do is dropped", zap.String("channel", channel), zap.String("user", user))
			if err := g.o.Store.Dismiss(ctx, store.Person{Channel: channel, User: user}); err != nil {
				return err
			}
		}
	}
	return nil
}

// stopRevoked stops the running turns of people who have lost access and what is being sent to them, and takes back what such people handed
// to others' turns.
func (g *Gateway) stopRevoked(ctx context.Context) error {
	turns := g.lanes.All()
	if len(turns) == 0 && !g.outbox.Sending() {
		return nil
	}
	revoked, parcels, err := g.o.Store.Dismissed(ctx)
	if err != nil {
		return err
	}
	g.outbox.Abort(parcels)
	for _, t := range turns {
		if slices.Contains(revoked, t.item.ID) {
			t.revoke()
			continue
		}
		for _, user := range t.injectors() {
			ok, err := g.knows(ctx, t.item.In.Chat.Channel, user)
			if err != nil {
				return err
			}
			if !ok {
				t.takeBack(user)
			}
		}
	}
	return nil
}

// releaseRevoked ends the kept agents of chats in which nobody who has used them has access any more: in a
// private chat that is one person.
func (g *Gateway) releaseRevoked(ctx context.Context) error {
	runner := g.set().Runner
	for _, agent := range runner.Kept() {
		channel, _, _ := strings.Cut(agent.Chat, ":")
		wanted := len(agent.Users) == 0
		for _, user := range agent.Users {
			ok, err := g.knows(ctx, channel, user)
			if err != nil {
				return err
			}
			wanted = wanted || ok
		}
		if !wanted {
			g.o.Log.Info("access revoked, ending the kept agent", zap.String("chat", agent.Chat))
			runner.Release(agent.Chat)
		}
	}
	return nil
}

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
		ok, err = t.g.knows(context.WithoutCancel(t.ctx), t.item.In.Chat.Channel, t.item.In.User.ID)
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
	ok, err := g.knows(ctx, item.In.Chat.Channel, item.In.User.ID)
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

// mayRunAgain reports whether a message may be worked on again, as far as its sender is concerned.
func (g *Gateway) mayRunAgain(ctx context.Context, in channels.Incoming) (bool, error) {
	return g.knows(ctx, in.Chat.Channel, in.User.ID)
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
