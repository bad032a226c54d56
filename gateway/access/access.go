// Package access decides who may use the bot, approve what agents ask for, and see which sessions.
package access

import (
	"context"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/role"
)

// Store is the part of the store that knows people.
type Store interface {
	Allowed(ctx context.Context, channel, user string) (bool, error)
	Pairings(ctx context.Context) ([]store.Pairing, error)
	Recent(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error)
	LoadRecord(ctx context.Context, key string) (string, error)
	BusyUnpaired(ctx context.Context, channel string) ([]string, error)
	Dismiss(ctx context.Context, who store.Person) error
}

// Settings may change while the gateway runs. Approvers and people with roles are channel:userid.
// An empty list of approvers contains everybody with access, or where there are roles, approvers
// and owners.
type Settings struct {
	// AllowFrom lists the admitted people by channel; * admits everybody. A channel that is missing
	// has no access control.
	AllowFrom map[string][]string
	// Approvers may grant permissions to the agents, by name of the agent.
	Approvers map[string][]string
	// RunApprovers may decide in runs of runbooks.
	RunApprovers []string
	// Roles are the people by role; nil: there are no roles.
	Roles map[role.Role][]string
}

// Options configures an Access.
type Options struct {
	Store    Store
	Channels map[string]channels.Channel // those that are open
	Settings func() Settings
	Log      *zap.Logger
}

// Access decides by the settings and the paired people. Its methods may be called from many
// goroutines.
type Access struct{ o Options }

// New returns an Access.
func New(o Options) *Access { return &Access{o} }

// Admits reports whether a person has access.
func (a *Access) Admits(ctx context.Context, channel, user string) (bool, error) {
	if a.AdmitsBySettings(channel, user) {
		return true, nil
	}
	ok, err := a.o.Store.Allowed(ctx, channel, user)
	if err != nil {
		return false, fmt.Errorf("look up access: %w", err)
	}
	return ok, nil
}

// AdmitsMessage reports whether the person who has sent a message, or caused one that nobody has
// typed, has access. The operator always has.
func (a *Access) AdmitsMessage(ctx context.Context, in channels.Incoming) (bool, error) {
	user, ok := in.Responsible()
	if !ok {
		return true, nil
	}
	return a.Admits(ctx, in.Chat.Channel, user)
}

// AdmitsBySettings reports whether the settings admit a person.
func (a *Access) AdmitsBySettings(channel, user string) bool {
	list, guarded := a.o.Settings().AllowFrom[channel]
	return !guarded || slices.Contains(list, "*") || slices.Contains(list, user)
}

// recentMessages is the number of a chat's latest messages whose senders are checked for access.
const recentMessages = 20

// LastAdmitted returns the latest message in a chat of a person with access, or of the operator. It
// reports false if none of the senders of the chat's latest messages has access.
func (a *Access) LastAdmitted(ctx context.Context, chat channels.Chat) (last int64, ok bool, err error) {
	recent, err := a.o.Store.Recent(ctx, chat, recentMessages)
	if err != nil {
		return 0, false, err
	}
	seen := map[string]bool{}
	for _, inbound := range recent {
		user := inbound.In.User.ID
		if seen[user] {
			continue
		}
		seen[user] = true
		if ok, err := a.AdmitsMessage(ctx, inbound.In); ok || err != nil {
			return inbound.ID, ok, err
		}
	}
	return 0, false, nil
}

// DismissUnadmitted drops the pending work of people who have lost access by a change of the
// settings.
func (a *Access) DismissUnadmitted(ctx context.Context) error {
	for channel, list := range a.o.Settings().AllowFrom {
		if slices.Contains(list, "*") {
			continue
		}
		users, err := a.o.Store.BusyUnpaired(ctx, channel)
		if err != nil {
			return err
		}
		for _, user := range users {
			if slices.Contains(list, user) {
				continue
			}
			a.o.Log.Info("access revoked, dropping pending work", zap.String("channel", channel), zap.String("user", user))
			if err := a.o.Store.Dismiss(ctx, store.Person{Channel: channel, User: user}); err != nil {
				return err
			}
		}
	}
	return nil
}
