package intake

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

// Watch stops the turns of people who lose access, until ctx ends.
func (i *Intake) Watch(ctx context.Context) {
	tick := time.NewTicker(accessEvery)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-tick.C:
			err = errors.Join(i.stopRevoked(ctx), i.releaseRevoked(ctx))
		case <-i.recheck:
			if err = i.DismissStrangers(ctx); err == nil {
				err = i.stopRevoked(ctx)
			}
		case <-ctx.Done():
			return
		}
		if err != nil && ctx.Err() == nil {
			i.o.Log.Warn("cannot look for revoked access, will retry", zap.Error(err))
			i.Recheck()
			retry.Sleep(ctx, time.Second)
		}
	}
}

// Recheck has Watch look who of those that have work may not talk to the bot any more.
func (i *Intake) Recheck() {
	select {
	case i.recheck <- struct{}{}:
	default:
	}
}

// DismissStrangers ends the work of people who are not admitted any more, because the settings have
// changed.
func (i *Intake) DismissStrangers(ctx context.Context) error {
	for channel, list := range i.o.Settings().AllowFrom {
		if slices.Contains(list, "*") {
			continue
		}
		users, err := i.o.Store.BusyUnpaired(ctx, channel)
		if err != nil {
			return err
		}
		for _, user := range users {
			if slices.Contains(list, user) {
				continue
			}
			i.o.Log.Info("access revoked, what is left to do is dropped", zap.String("channel", channel), zap.String("user", user))
			if err := i.o.Store.Dismiss(ctx, store.Person{Channel: channel, User: user}); err != nil {
				return err
			}
		}
	}
	return nil
}

// stopRevoked stops the running turns of people who have lost access and what is being sent to
// them, and takes back what such people handed to others' turns.
func (i *Intake) stopRevoked(ctx context.Context) error {
	turns := i.o.Lanes.All()
	if len(turns) == 0 && !i.o.Outbox.Sending() {
		return nil
	}
	revoked, deliveries, err := i.o.Store.Dismissed(ctx)
	if err != nil {
		return err
	}
	i.o.Outbox.Abort(deliveries)
	for _, t := range turns {
		if slices.Contains(revoked, t.Inbound().ID) {
			t.Revoke()
			continue
		}
		for _, user := range t.WaitingInjectors() {
			ok, err := i.Admits(ctx, t.Inbound().In.Chat.Channel, user)
			if err != nil {
				return err
			}
			if !ok {
				t.WithdrawInjected(user)
			}
		}
	}
	return nil
}

// releaseRevoked ends the kept agents of chats in which nobody who has used them has access any
// more: in a private chat that is one person.
func (i *Intake) releaseRevoked(ctx context.Context) error {
	for _, agent := range i.o.Settings().Agents {
		if err := i.releaseRevokedOf(ctx, agent.Runner); err != nil {
			return err
		}
	}
	return nil
}

func (i *Intake) releaseRevokedOf(ctx context.Context, runner Runner) error {
	for _, agent := range runner.IdleAgents() {
		channel, _, _ := strings.Cut(agent.Chat, ":")
		wanted := len(agent.Users) == 0
		for _, user := range agent.Users {
			ok, err := i.Admits(ctx, channel, user)
			if err != nil {
				return err
			}
			wanted = wanted || ok
		}
		if !wanted {
			i.o.Log.Info("access revoked, ending the kept agent", zap.String("chat", agent.Chat))
			runner.EndIdleAgent(agent.Chat)
		}
	}
	return nil
}
