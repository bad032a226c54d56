package access

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

// PollInterval is how often the store is polled for people who were admitted or lost access by a
// command of the operator.
const PollInterval = 500 * time.Millisecond

// Turn is a running turn.
type Turn interface {
	Inbound() store.Inbound
	// Revoke ends the turn of a person who has lost access.
	Revoke()
	// WaitingInjectors returns the users whose injected messages the agent has not read yet.
	// WithdrawInjected withdraws those of one user.
	WaitingInjectors() []string
	WithdrawInjected(user string)
}

// Agents are the persistent agents of one configured agent.
type Agents interface {
	// IdleAgents returns the chats whose persistent agent has no turn, with the IDs of the people
	// whose messages it has worked on. EndIdleAgent ends the agent of a chat.
	IdleAgents() map[string][]string
	EndIdleAgent(chat string)
}

// RevocationOptions configures a Revocation.
type RevocationOptions[T Turn] struct {
	Access *Access
	// Dismissed returns the messages and the deliveries of people who have lost access.
	Dismissed    func(ctx context.Context) (inbounds, deliveries []int64, err error)
	RunningTurns func() []T
	Outbox       interface {
		// Sending reports whether any message is being sent, and Abort cancels sends.
		Sending() bool
		Abort(deliveries []int64)
	}
	Agents func() []Agents
	Log    *zap.Logger
}

// Revocation ends the work of people who lose access.
type Revocation[T Turn] struct {
	o       RevocationOptions[T]
	recheck chan struct{} // the settings have changed, and people may have lost access
}

// NewRevocation returns a Revocation.
func NewRevocation[T Turn](o RevocationOptions[T]) *Revocation[T] {
	return &Revocation[T]{o: o, recheck: make(chan struct{}, 1)}
}

// Run stops the turns of people who lose access, until ctx ends.
func (r *Revocation[T]) Run(ctx context.Context) {
	tick := time.NewTicker(PollInterval)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-tick.C:
			err = errors.Join(r.stopTurns(ctx), r.endAgents(ctx))
		case <-r.recheck:
			if err = r.o.Access.DismissUnadmitted(ctx); err == nil {
				err = r.stopTurns(ctx)
			}
		case <-ctx.Done():
			return
		}
		if err != nil && ctx.Err() == nil {
			r.o.Log.Warn("cannot look for revoked access, will retry", zap.Error(err))
			r.Recheck()
			retry.Sleep(ctx, time.Second)
		}
	}
}

// Recheck has Run check everybody who has pending work against the settings.
func (r *Revocation[T]) Recheck() {
	select {
	case r.recheck <- struct{}{}:
	default:
	}
}

// stopTurns stops the running turns of people who have lost access and the sends to them, and
// withdraws messages that they injected into other people's turns.
func (r *Revocation[T]) stopTurns(ctx context.Context) error {
	turns := r.o.RunningTurns()
	if len(turns) == 0 && !r.o.Outbox.Sending() {
		return nil
	}
	revoked, deliveries, err := r.o.Dismissed(ctx)
	if err != nil {
		return err
	}
	r.o.Outbox.Abort(deliveries)
	for _, t := range turns {
		if slices.Contains(revoked, t.Inbound().ID) {
			t.Revoke()
			continue
		}
		for _, user := range t.WaitingInjectors() {
			ok, err := r.o.Access.Admits(ctx, t.Inbound().In.Chat.Channel, user)
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

// endAgents ends the persistent agents of chats none of whose users have access any more.
func (r *Revocation[T]) endAgents(ctx context.Context) error {
	for _, agents := range r.o.Agents() {
		for chat, users := range agents.IdleAgents() {
			channel, _, _ := strings.Cut(chat, ":")
			wanted := len(users) == 0
			for _, user := range users {
				ok, err := r.o.Access.Admits(ctx, channel, user)
				if err != nil {
					return err
				}
				wanted = wanted || ok
			}
			if !wanted {
				r.o.Log.Info("access revoked, ending the persistent agent", zap.String("chat", chat))
				agents.EndIdleAgent(chat)
			}
		}
	}
	return nil
}
