package outbox

import (
	"context"
	"sync"
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

// reactions are the reactions that are being shown, by message. A message has one goroutine, which
// shows its latest reaction, so that reactions arrive in order and outdated ones are skipped.
type reactions struct {
	mu      sync.Mutex
	pending map[reactedMessage]channels.Reaction // not shown yet
	showing map[reactedMessage]bool
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
	m := reactedMessage{chat, id}
	if box.reactions.add(m, r) {
		box.spawn(func(ctx context.Context, _ *backgroundTask) {
			box.reactions.show(ctx, box.reach, reactor, m, box.o.Log)
		})
	}
}

// add sets the reaction of a message that is to be shown next. It reports whether the caller must
// start its goroutine.
func (q *reactions) add(m reactedMessage, r channels.Reaction) (start bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pending == nil {
		q.pending, q.showing = map[reactedMessage]channels.Reaction{}, map[reactedMessage]bool{}
	}
	limit := maxLastReactions
	if r == channels.Taken {
		limit = maxReactions
	}
	start = !q.showing[m]
	if start && len(q.showing) >= limit {
		return false
	}
	q.pending[m], q.showing[m] = r, true
	return start
}

// next returns the reaction of a message that is to be shown. It reports false if there is none,
// and then the message has no goroutine any more.
func (q *reactions) next(m reactedMessage) (channels.Reaction, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, ok := q.pending[m]
	if !ok {
		delete(q.showing, m)
	}
	delete(q.pending, m)
	return r, ok
}

// hasNext reports whether a newer reaction of a message is to be shown.
func (q *reactions) hasNext(m reactedMessage) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, ok := q.pending[m]
	return ok
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
