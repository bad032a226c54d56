package outbox

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

const (
	// removeTimeout is how long the removal of a message is tried. After that the next start
	// removes it.
	removeTimeout = 24 * time.Hour
	// maxRemovePause bounds the wait between tries, unless the network says how long to wait.
	maxRemovePause = 30 * time.Second
)

// Remove removes a transient message in the background, once the messages that wait to be sent to
// its chat are sent, after maxEndDelay at the latest, and a message of a person at once.
func (box *Outbox) Remove(transient store.Transient) {
	if transient.Incoming {
		box.removeIncoming(transient)
		return
	}
	box.EndBoard(EndedBoard{Board: transient})
}

// beginRemoval records that a message is being removed. It reports false if it is already.
func (box *Outbox) beginRemoval(id messageID) bool {
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.removing[id] {
		return false
	}
	box.removing[id] = true
	return true
}

func (box *Outbox) endRemoval(id messageID) {
	box.mu.Lock()
	defer box.mu.Unlock()
	delete(box.removing, id)
}

// removeMessage removes a message. It is the only way in which the outbox removes messages of its
// own. It reports whether the store's record of the message is no longer needed: the message is
// gone, cannot be removed, or has to stay. Otherwise the next start removes it.
func (box *Outbox) removeMessage(ctx context.Context, editor channels.Editor, e EndedBoard) bool {
	transient := e.Board
	box.replacements.remove(messageID{transient.Chat, transient.ID})
	err := box.tryUntil(ctx, transient.Chat, removeTimeout, func(ctx context.Context) error {
		return editor.Remove(ctx, transient.Chat, transient.ID)
	})
	var se *channels.SendError
	permanent := errors.As(err, &se) && se.Permanent
	if err != nil && (permanent || ctx.Err() == nil) {
		box.o.Log.Warn("transient message not removed", zap.Stringer("chat", transient.Chat), zap.Error(err))
	}
	return err == nil || permanent
}

// awaitAnswersSent waits until no message waits to be sent to a chat, except for one that gives
// way, or until ctx ends.
func (box *Outbox) awaitAnswersSent(ctx context.Context, task *backgroundTask, chat channels.Chat) {
	box.setAwaitsAnswers(task, chat, true)
	defer box.setAwaitsAnswers(task, chat, false)
	for ctx.Err() == nil {
		box.await(ctx, func() bool { return !box.isBusy(chat) })
		if box.Empty(ctx, chat) {
			return
		}
		// The store cannot be read, the chat is left on disk for now, or a message came just now.
		retry.Sleep(ctx, firstBackoff)
	}
}

func (box *Outbox) setAwaitsAnswers(task *backgroundTask, chat channels.Chat, awaits bool) {
	box.mu.Lock()
	defer box.mu.Unlock()
	task.awaitsAnswers, task.chat = awaits, chat
	box.changed.Broadcast()
}

// tryUntil makes a network call about a chat until it succeeds, is refused permanently or limit has
// passed.
func (r *reach) tryUntil(ctx context.Context, chat channels.Chat, limit time.Duration,
	call func(ctx context.Context) error,
) error {
	until := time.Now().Add(limit)
	for pause := min(firstBackoff, limit/8); ; pause = min(2*pause, maxRemovePause) {
		if err := ctx.Err(); err != nil {
			return err
		}
		callCtx, cancel := context.WithTimeout(ctx, CallTimeout)
		err := r.Call(chat, func() error { return call(callCtx) })
		cancel()
		var se *channels.SendError
		if err == nil || errors.As(err, &se) && se.Permanent {
			return err
		}
		wait := max(RetryAfter(err), pause)
		if time.Now().Add(wait).After(until) || !retry.Sleep(ctx, wait) {
			return err
		}
	}
}
