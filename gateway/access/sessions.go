package access

import (
	"context"
	"fmt"
	"slices"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/role"
	"nanobot/terminal"
)

// Sessions returns which sessions of an agent the sender of a message may choose from. The only
// person with access may see all, and an owner or a listed approver those that were begun outside
// the chats: what other people write to the bot is private. In a group others would see the list,
// too.
func (a *Access) Sessions(ctx context.Context, in channels.Incoming, agent string) (terminal.SessionAccess, error) {
	if in.Group || in.User.ID == "" {
		return terminal.OwnSessions, nil
	}
	alone, err := a.isAlone(ctx, in.Chat.Channel, in.User.ID)
	switch {
	case err != nil:
		return terminal.OwnSessions, err
	case alone:
		return terminal.AllSessions, nil
	}
	p := store.Person{Channel: in.Chat.Channel, User: in.User.ID}
	if may, err := a.MayApprove(ctx, agent, p, role.SessionsElsewhere); !may || err != nil {
		return terminal.OwnSessions, err
	}
	return terminal.SessionsElsewhere, nil
}

// isAlone reports whether a person with access is the only one. People may sign in elsewhere to a
// channel without a list.
func (a *Access) isAlone(ctx context.Context, channel, user string) (bool, error) {
	isOther := func(ch, id string) bool { return ch != channel || id != user }
	for name := range a.o.Channels {
		list, guarded := a.o.Settings().AllowFrom[name]
		if !guarded || slices.ContainsFunc(list, func(id string) bool { return isOther(name, id) }) {
			return false, nil
		}
	}
	paired, err := a.o.Store.Pairings(ctx)
	if err != nil {
		return false, fmt.Errorf("look up access: %w", err)
	}
	for _, p := range paired {
		_, open := a.o.Channels[p.Channel]
		if open && p.Code == "" && isOther(p.Channel, p.User.ID) {
			return false, nil
		}
	}
	return true, nil
}
