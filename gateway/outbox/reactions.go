package outbox

import (
	"context"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
)

const (
	// reactionTimeout is how long the reaction to a waiting message is tried: later it says nothing
	// new. lastReactionTimeout is for the reactions that replace it, since it would stay for ever.
	reactionTimeout, lastReactionTimeout = 10 * time.Second, 10 * time.Minute
	// maxReactions bounds the messages whose reactions wait for the network, and maxLastReactions
	// if the reaction replaces an earlier one. Further reactions are dropped.
	maxReactions, maxLastReactions = 256, 4096
)

// reactions are the reactions that are being shown.
type reactions struct {
	latest[reactedMessage, channels.Reaction]
}

// reactedMessage is a message on the network.
type reactedMessage struct {
	chat channels.Chat
	id   string
}

// React shows a reaction to a message in the background, if the channel uses reactions in the chat.
// The reaction is only a hint: it is not stored, and it is repeated only until it says nothing new.
func (box *Outbox) React(chat channels.Chat, id string, r channels.Reaction) {
	reactor, ok := box.o.Channels[chat.Channel].(channels.Reactor)
	if !ok || id == "" || !reactor.Reacts(chat) {
		return
	}
	m, limit := reactedMessage{chat, id}, maxLastReactions
	if r == channels.Taken {
		limit = maxReactions
	}
	if box.reactions.add(m, r, limit) {
		box.spawn(func(ctx context.Context, _ *backgroundTask) {
			box.reactions.show(ctx, box.reach, reactor, m, box.o.Log)
		})
	}
}

// show shows the reactions of a message until none is left.
func (q *reactions) show(ctx context.Context, r *reach, reactor channels.Reactor, m reactedMessage, log *zap.Logger) {
	for next, ok := q.next(m); ok; next, ok = q.next(m) {
		if err := q.try(ctx, r, reactor, m, next); err != nil {
			log.Debug("reaction not shown", zap.Stringer("chat", m.chat), zap.Error(err))
		}
	}
}

// try shows a reaction. It repeats a call that the network refuses for the moment, unless a
// newer reaction is to be shown.
func (q *reactions) try(ctx context.Context, r *reach, reactor channels.Reactor, m reactedMessage,
	next channels.Reaction,
) error {
	limit := lastReactionTimeout
	if next == channels.Taken {
		limit = reactionTimeout
	}
	return r.tryUntil(ctx, m.chat, limit, func(ctx context.Context) error {
		if q.hasNext(m) {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, reactionTimeout)
		defer cancel()
		return reactor.React(ctx, m.chat, m.id, next)
	})
}
