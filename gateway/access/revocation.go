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
		// Abort cancels sends.
		Abort(deliveries []int64)
	}
	Agents func() []Agents
	Forgetting
	Log *zap.Logger
}

// Revocation ends the work of people who lose access.
type Revocation[T Turn] struct {
	o       RevocationOptions[T]
	recheck chan struct{} // the settings have changed, and people may have lost access
	// admitted are people who have access, until somebody loses it. It belongs to Run.
	admitted map[store.Person]bool
	// forgetting says that requests to forget people may not be answered yet. It belongs to Run.
	forgetting bool
}

// NewRevocation returns a Revocation.
func NewRevocation[T Turn](o RevocationOptions[T]) *Revocation[T] {
	return &Revocation[T]{o: o, recheck: make(chan struct{}, 1), admitted: map[store.Person]bool{}}
}

// Run stops the turns of people who lose access, until ctx ends.
func (r *Revocation[T]) Run(ctx context.Context, beats <-chan store.Beat) {
	var revocations string
	for {
		var err error
		select {
		case b := <-beats:
			if b.Revocations != revocations {
				revocations = b.Revocations
				clear(r.admitted)
				r.forgetting = true
			}
			r.stopTurns(b.Dismissed, b.DismissedDeliveries)
			err = errors.Join(r.endOther(ctx), r.answerForgetting(ctx))
		case <-r.recheck:
			clear(r.admitted)
			err = r.dismissUnadmitted(ctx)
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

// dismissUnadmitted dismisses the people whom the settings no longer admit, and ends their work.
func (r *Revocation[T]) dismissUnadmitted(ctx context.Context) error {
	if err := r.o.Access.DismissUnadmitted(ctx); err != nil {
		return err
	}
	inbounds, deliveries, err := r.o.Dismissed(ctx)
	if err != nil {
		return err
	}
	r.stopTurns(inbounds, deliveries)
	return r.endOther(ctx)
}

// stopTurns stops the running turns of people who have lost access and the sends to them.
func (r *Revocation[T]) stopTurns(inbounds, deliveries []int64) {
	if len(deliveries) > 0 {
		r.o.Outbox.Abort(deliveries)
	}
	for _, t := range r.o.RunningTurns() {
		if slices.Contains(inbounds, t.Inbound().ID) {
			t.Revoke()
		}
	}
}

// endOther ends what people without access have in other people's turns and between turns.
func (r *Revocation[T]) endOther(ctx context.Context) error {
	return errors.Join(r.withdrawInjected(ctx), r.endAgents(ctx))
}

// withdrawInjected withdraws the messages that people without access have injected.
func (r *Revocation[T]) withdrawInjected(ctx context.Context) error {
	for _, t := range r.o.RunningTurns() {
		for _, user := range t.WaitingInjectors() {
			ok, err := r.admits(ctx, t.Inbound().In.Chat.Channel, user)
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

// admits reports whether a person has access, and remembers those who have.
func (r *Revocation[T]) admits(ctx context.Context, channel, user string) (bool, error) {
	p := store.Person{Channel: channel, User: user}
	if r.admitted[p] {
		return true, nil
	}
	ok, err := r.o.Access.Admits(ctx, channel, user)
	if ok {
		r.admitted[p] = true
	}
	return ok, err
}

// endAgents ends the persistent agents of chats none of whose users have access any more.
func (r *Revocation[T]) endAgents(ctx context.Context) error {
	for _, agents := range r.o.Agents() {
		for chat, users := range agents.IdleAgents() {
			channel, _, _ := strings.Cut(chat, ":")
			wanted := len(users) == 0
			for _, user := range users {
				ok, err := r.admits(ctx, channel, user)
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
