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

// reactions are the reactions to messages of people that are being shown.
type reactions struct {
	box    *Outbox
	began  time.Time // of this run
	latest latest[messageID, pendingReaction]
}

// ReactWhenSent is React after the network has confirmed the answers to an inbound message. A
// message whose answer could not be delivered is shown as failed.
func (box *Outbox) ReactWhenSent(chat channels.Chat, id string, inbound int64, r channels.Reaction) {
	box.reactions.add(chat, id, pendingReaction{r, inbound})
}

// React shows a reaction to a message in the background, if the channel uses reactions in the chat.
// The reaction is only a hint: it is not stored, and it is repeated only until it says nothing new.
func (box *Outbox) React(chat channels.Chat, id string, r channels.Reaction) {
	box.reactions.add(chat, id, pendingReaction{Reaction: r})
}

// addEarlier is ReactWhenSent for the answer of a turn that has ended in an earlier run. It is
// called before the answer is sent.
func (all *reactions) addEarlier(ctx context.Context, answer store.Delivery) {
	if all.box.o.EndReaction == nil || answer.Inbound <= 0 {
		return
	}
	inbound, ok, err := all.box.o.Store.Inbound(ctx, answer.Inbound)
	if err != nil || !ok {
		return
	}
	if r, ok := all.box.o.EndReaction(inbound); ok {
		all.add(inbound.In.Chat, inbound.In.ID, pendingReaction{r, inbound.ID})
	}
}

func (all *reactions) add(chat channels.Chat, id string, r pendingReaction) {
	reactor, ok := all.box.o.Channels[chat.Channel].(channels.Reactor)
	if !ok || id == "" || !reactor.Reacts(chat) {
		return
	}
	m, limit := messageID{chat, id}, maxLastReactions
	if r.Reaction == channels.Taken {
		limit = maxReactions
	}
	if all.latest.add(m, r, limit) {
		all.box.spawn(func(ctx context.Context, task *backgroundTask) { all.show(ctx, task, reactor, m) })
	}
}

// show shows the reactions of a message until none is left. It repeats a call that the
// network refuses for the moment, unless a newer reaction is to be shown.
func (all *reactions) show(ctx context.Context, task *backgroundTask, reactor channels.Reactor, m messageID) {
	for next, ok := all.latest.next(m); ok; next, ok = all.latest.next(m) {
		shown, limit := all.awaitAnswered(ctx, task, m.chat, next), lastReactionTimeout
		if shown == channels.Taken {
			limit = reactionTimeout
		}
		err := all.box.networks.tryUntil(ctx, m.chat, limit, func(ctx context.Context) error {
			if all.latest.hasNext(m) {
				return errSuperseded
			}
			ctx, cancel := context.WithTimeout(ctx, reactionTimeout)
			defer cancel()
			return reactor.React(ctx, m.chat, m.id, shown)
		})
		if err != nil {
			all.box.o.Log.Debug("reaction not shown", zap.Stringer("chat", m.chat), zap.Error(err))
		}
	}
}

// awaitAnswered waits until the answers that a reaction tells of were sent, whatever else waits in
// the chat, and returns the reaction to show.
func (all *reactions) awaitAnswered(ctx context.Context, task *backgroundTask, chat channels.Chat,
	r pendingReaction,
) channels.Reaction {
	if r.answered == 0 {
		return r.Reaction
	}
	all.box.setAwaitsAnswers(task, chat, true)
	defer all.box.setAwaitsAnswers(task, chat, false)
	own := func(is func(store.Delivery) bool) func(store.Delivery) bool {
		return func(delivery store.Delivery) bool { return delivery.Inbound == r.answered && is(delivery) }
	}
	for ctx.Err() == nil {
		settled := func() bool { return !all.box.maySend(chat, r.answered) } // with mu locked
		all.box.await(ctx, settled)
		newest, err := all.box.o.Store.Undelivered(ctx, chat, maxLookedAt)
		all.box.mu.Lock()
		sent := err == nil && !slices.ContainsFunc(newest, own(waits)) && settled()
		all.box.mu.Unlock()
		if sent {
			if slices.ContainsFunc(newest, own(func(d store.Delivery) bool { return d.State == store.Failed })) {
				return channels.Broken
			}
			break
		}
		all.box.await(ctx, func() bool { return all.box.chats[chat] == nil || !settled() }) // for the next try
		if !all.box.isServed(chat) {                                                        // it is left on disk for now
			retry.Sleep(ctx, firstBackoff)
		}
	}
	return r.Reaction
}
