package gateway

import (
	"context"
	"errors"
	"slices"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/beat"
	"nanobot/gateway/outbox"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// maxUnserved bounds the waiting messages of an agent that one beat reads.
const maxUnserved = 1000

// announceUnserved tells people, once for each message at the front of its chat, that no member is
// up that has the labels of their agent. It returns when ctx has ended.
func (g *Gateway) announceUnserved(ctx context.Context, beats beat.Listener) error {
	told := map[int64]bool{} // those that wait
	for {
		select {
		case b := <-beats:
			if !b.Claimable {
				clear(told)
				continue
			}
			if err := g.findUnserved(ctx, told); err != nil && ctx.Err() == nil {
				g.o.Log.Warn("cannot look for messages that no member can run, will retry", zap.Error(err))
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// findUnserved tells people about the messages that no member can run, except those in told.
func (g *Gateway) findUnserved(ctx context.Context, told map[int64]bool) error {
	agents, err := g.unservedAgents(ctx)
	for _, agent := range agents {
		f := store.TurnFilter{Agent: agent, Outcome: string(store.Pending), Limit: maxUnserved}
		waiting, readErr := g.o.Store.Turns(ctx, f)
		err = errors.Join(err, readErr)
		slices.Reverse(waiting) // the oldest of a chat first
		seen := map[channels.Chat]bool{}
		for _, inbound := range waiting {
			if chat := inbound.In.Chat; !seen[chat] && !told[inbound.ID] && inbound.In.Origin == channels.Person {
				err = errors.Join(err, g.announceFirst(ctx, chat, agent, told))
			}
			seen[inbound.In.Chat] = true
		}
	}
	return err
}

// unservedAgents returns the agents that no member that is up can run. This member is the leader.
func (g *Gateway) unservedAgents(ctx context.Context) (agents []string, err error) {
	set := g.settings.Load()
	if len(set.otherAgents) == 0 {
		return nil, nil
	}
	members, err := g.o.Store.ListMembers(ctx)
	for _, name := range set.otherAgents {
		if !slices.ContainsFunc(members, func(m store.MemberStatus) bool {
			return m.State == store.Up && hasLabels(m.Labels, set.Agents[name].Labels)
		}) {
			agents = append(agents, name)
		}
	}
	return agents, err
}

// hasLabels reports whether a member with labels may run an agent that needs some.
func hasLabels(labels, needed []string) bool {
	return !slices.ContainsFunc(needed, func(l string) bool { return !slices.Contains(labels, l) })
}

// announceFirst tells the sender of the message that is at the front of a chat that nobody can run
// it, if it is for an agent and no turn runs before it. The store ensures that this happens once.
func (g *Gateway) announceFirst(ctx context.Context, chat channels.Chat, agent string, told map[int64]bool) error {
	_, runs, err := g.o.Store.Running(ctx, chat)
	if runs || err != nil {
		return err
	}
	queue, err := g.o.Store.Queue(ctx, chat, 1)
	if err != nil || len(queue) == 0 || queue[0].Agent != agent || told[queue[0].ID] {
		return err
	}
	first := queue[0]
	w := g.words.For(first.In.User.Language)
	m := outbox.Reply(first, channels.Message{
		Kind: channels.Answer, Text: w.Text(words.WaitsForMember),
		Buttons:      []channels.Button{{Label: w.Text(words.ButtonCancel), Data: press.Cancel(first.ID)}},
		Notification: channels.Notification{Silent: true},
	})
	m.Sequence, m.Once = outbox.WaitSequence, true
	if err := g.outbox.Post(ctx, m); err != nil && !errors.Is(err, store.ErrState) {
		return err
	}
	told[first.ID] = true
	return nil
}
