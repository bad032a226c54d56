package intake

import (
	"context"
	"fmt"
	"slices"

	"nanobot/channels"
)

// IsOwner reports whether the sender of a message may see everything that an agent has stored: the
// sender is one of the agent's approvers, or the only person with access. In a group others would
// see it, too.
func (i *Intake) IsOwner(ctx context.Context, in channels.Incoming, agent string) (bool, error) {
	if in.Group || in.User.ID == "" {
		return false, nil
	}
	settings, configured := i.o.Settings().Agents[agent]
	if configured && slices.Contains(settings.Approvers, in.Chat.Channel+":"+in.User.ID) {
		return true, nil
	}
	return i.isAlone(ctx, in.Chat.Channel, in.User.ID)
}

// isAlone reports whether a person with access is the only one. People may sign in elsewhere to a
// channel without a list.
func (i *Intake) isAlone(ctx context.Context, channel, user string) (bool, error) {
	isOther := func(ch, id string) bool { return ch != channel || id != user }
	for name := range i.o.Channels {
		list, guarded := i.o.Settings().AllowFrom[name]
		if !guarded || slices.ContainsFunc(list, func(id string) bool { return isOther(name, id) }) {
			return false, nil
		}
	}
	paired, err := i.o.Store.Pairings(ctx)
	if err != nil {
		return false, fmt.Errorf("look up access: %w", err)
	}
	for _, p := range paired {
		_, open := i.o.Channels[p.Channel]
		if open && p.Code == "" && isOther(p.Channel, p.User.ID) {
			return false, nil
		}
	}
	return true, nil
}
