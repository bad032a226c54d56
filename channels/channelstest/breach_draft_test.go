package channelstest

import (
	"cmp"
	"context"

	"nanobot/channels"
)

const (
	showsDraft    = "Drafter: a draft replaces the one before it and is no message"
	replacesDraft = "Drafter: a message replaces the draft"
	showsReaction = "Reactor: a reaction replaces the one before it"
	onlyReacts    = "Reactor: Reacts and React send nothing"
)

var optionalDraftBreaches = []breach{
	{
		name:  "Drafts is false in the chat of the test",
		fails: []string{showsDraft, replacesDraft},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.drafts = func(channels.Chat) bool { return false }
		}),
	},
	{
		name:  "Draft shows nothing",
		fails: []string{showsDraft},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.draft = func(context.Context, string, channels.Outgoing) error { return nil }
		}),
	},
	{
		name:  "Draft sends a message",
		fails: []string{showsDraft},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.draft = func(ctx context.Context, key string, m channels.Outgoing) error {
				_, _ = f.Send(ctx, m)
				return f.Draft(ctx, key, m)
			}
		}),
	},
	{
		name:  "a message leaves the draft",
		fails: []string{replacesDraft},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.send = func(ctx context.Context, m channels.Outgoing) (channels.Receipt, error) {
				draft := withLock(f.net, func() string { return f.net.draft })
				receipt, err := f.Send(ctx, m)
				return receipt, cmp.Or(err, f.Draft(ctx, "", channels.Outgoing{Text: draft}))
			}
		}),
	},
	{
		name:  "Reacts is false in the chat of the test",
		fails: []string{showsReaction, onlyReacts},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.reacts = func(channels.Chat) bool { return false }
		}),
	},
	{
		name:  "React adds to the reactions",
		fails: []string{showsReaction},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.react = func(_ context.Context, _ channels.Chat, _ string, r channels.Reaction) error {
				f.net.mu.Lock()
				defer f.net.mu.Unlock()
				f.net.reactions = append(f.net.reactions, string(r))
				return nil
			}
		}),
	},
	{
		name:  "React sends a message",
		fails: []string{onlyReacts},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.react = func(ctx context.Context, chat channels.Chat, id string, r channels.Reaction) error {
				_, err := f.Send(ctx, channels.Outgoing{Chat: chat, Text: "reaction: " + string(r)})
				return cmp.Or(err, f.React(ctx, chat, id, r))
			}
		}),
	},
}
