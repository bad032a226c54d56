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

// WatchRevoked stops the turns of people who lose access, until ctx ends.
func (i *Intake) WatchRevoked(ctx context.Context) {
	tick := time.NewTicker(accessPollInterval)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-tick.C:
			err = errors.Join(i.stopRevoked(ctx), i.endRevokedAgents(ctx))
		case <-i.recheck:
			if err = i.DismissUnadmitted(ctx); err == nil {
				err = i.stopRevoked(ctx)
			}
		case <-ctx.Done():
			return
		}
		if err != nil && ctx.Err() == nil {
			i.o.Log.Warn("cannot look for revoked access, will retry", zap.Error(err))
			i.RecheckAccess()
			retry.Sleep(ctx, time.Second)
		}
	}
}

// RecheckAccess has WatchRevoked check everybody who has pending work against the settings.
func (i *Intake) RecheckAccess() {
	select {
	case i.recheck <- struct{}{}:
	default:
	}
}

// DismissUnadmitted drops the pending work of people who have lost access by a change of the
// settings.
func (i *Intake) DismissUnadmitted(ctx context.Context) error {
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
			i.o.Log.Info("access revoked, dropping pending work", zap.String("channel", channel), zap.String("user", user))
			if err := i.o.Store.Dismiss(ctx, store.Person{Channel: channel, User: user}); err != nil {
				return err
			}
		}
	}
	return nil
}

// stopRevoked stops the running turns of people who have lost access and the sends to them, and
// withdraws messages that they injected into other people's turns.
func (i *Intake) stopRevoked(ctx context.Context) error {
	turns := i.o.Lanes.RunningTurns()
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

// endRevokedAgents ends the persistent agents of chats none of whose users have access any more.
func (i *Intake) endRevokedAgents(ctx context.Context) error {
	for _, agent := range i.o.Settings().Agents {
		if err := i.endRevokedAgentsOf(ctx, agent.Runner); err != nil {
			return err
		}
	}
	return nil
}

func (i *Intake) endRevokedAgentsOf(ctx context.Context, runner Runner) error {
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
			i.o.Log.Info("access revoked, ending the persistent agent", zap.String("chat", agent.Chat))
			runner.EndIdleAgent(agent.Chat)
		}
	}
	return nil
}
