package outbox

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

const (
	// reactionTimeout is how long the reaction to a waiting message is tried: later it says nothing
	// new. lastReactionTimeout is for the reactions that replace it, since it would stay for ever.
	reactionTimeout, lastReactionTimeout = 10 * time.Second, 10 * time.Minute
	// maxReactions bounds the messages whose reactions wait for the network, and maxLastReactions
	// if the reaction replaces an earlier one. Further reactions are dropped.
	maxReactions, maxLastReactions = 256, 4096
)

// pendingReaction is a reaction that is not shown yet. If answered is set, it is shown when the
// answers to this inbound message were sent.
type pendingReaction struct {
	channels.Reaction
	answered int64
}

// ReactWhenSent is React after the network has confirmed the answers to an inbound message. A
// message whose answer could not be delivered is shown as failed.
func (box *Outbox) ReactWhenSent(chat channels.Chat, id string, inbound int64, r channels.Reaction) {
	box.react(chat, id, pendingReaction{r, inbound})
}

// React shows a reaction to a message in the background, if the channel uses reactions in the chat.
// The reaction is only a hint: it is not stored, and it is repeated only until it says nothing new.
func (box *Outbox) React(chat channels.Chat, id string, r channels.Reaction) {
	box.react(chat, id, pendingReaction{Reaction: r})
}

func (box *Outbox) react(chat channels.Chat, id string, r pendingReaction) {
	reactor, ok := box.o.Channels[chat.Channel].(channels.Reactor)
	if !ok || id == "" || !reactor.Reacts(chat) {
		return
	}
	m, limit := messageID{chat, id}, maxLastReactions
	if r.Reaction == channels.Taken {
		limit = maxReactions
	}
	if box.reactions.add(m, r, limit) {
		box.spawn(func(ctx context.Context, task *backgroundTask) { box.showReactions(ctx, task, reactor, m) })
	}
}

// showReactions shows the reactions of a message until none is left. It repeats a call that the
// network refuses for the moment, unless a newer reaction is to be shown.
func (box *Outbox) showReactions(ctx context.Context, task *backgroundTask, reactor channels.Reactor, m messageID) {
	for next, ok := box.reactions.next(m); ok; next, ok = box.reactions.next(m) {
		shown, limit := box.awaitAnswered(ctx, task, m.chat, next), lastReactionTimeout
		if shown == channels.Taken {
			limit = reactionTimeout
		}
		err := box.tryUntil(ctx, m.chat, limit, func(ctx context.Context) error {
			if box.reactions.hasNext(m) {
				return errSuperseded
			}
			ctx, cancel := context.WithTimeout(ctx, reactionTimeout)
			defer cancel()
			return reactor.React(ctx, m.chat, m.id, shown)
		})
		if err != nil {
			box.o.Log.Debug("reaction not shown", zap.Stringer("chat", m.chat), zap.Error(err))
		}
	}
}

// awaitAnswered waits until the answers that a reaction tells of were sent, whatever else waits in
// the chat, and returns the reaction to show.
func (box *Outbox) awaitAnswered(ctx context.Context, task *backgroundTask, chat channels.Chat,
	r pendingReaction,
) channels.Reaction {
	if r.answered == 0 {
		return r.Reaction
	}
	box.setAwaitsAnswers(task, chat, true)
	defer box.setAwaitsAnswers(task, chat, false)
	own := func(is func(store.Delivery) bool) func(store.Delivery) bool {
		return func(delivery store.Delivery) bool { return delivery.Inbound == r.answered && is(delivery) }
	}
	for ctx.Err() == nil {
		settled := func() bool { return !box.maySend(chat, r.answered) }
		box.await(ctx, settled)
		newest, err := box.o.Store.Undelivered(ctx, chat, maxLookedAt)
		if err == nil && !slices.ContainsFunc(newest, own(waits)) && box.holds(settled) {
			if slices.ContainsFunc(newest, own(func(d store.Delivery) bool { return d.State == store.Failed })) {
				return channels.Broken
			}
			break
		}
		box.await(ctx, func() bool { return box.chats[chat] == nil || !settled() }) // for the next try
		if !box.isServed(chat) {                                                    // it is left on disk for now
			retry.Sleep(ctx, firstBackoff)
		}
	}
	return r.Reaction
}
