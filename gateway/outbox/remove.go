package outbox

import (
	"context"
	"errors"
	"sync"
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
		box.removals.removeIncoming(transient)
		return
	}
	box.EndBoard(EndedBoard{Board: transient})
}

// removals remove and fold transient messages.
type removals struct {
	box     *Outbox
	mu      sync.Mutex
	ongoing map[messageID]bool // the messages that are being removed or folded
}

// begin records that a message is being removed. It reports false if it is already.
func (r *removals) begin(id messageID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ongoing[id] {
		return false
	}
	r.ongoing[id] = true
	return true
}

func (r *removals) end(id messageID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ongoing, id)
}

// removeMessage removes a message. It is the only way in which the outbox removes messages of its
// own. It reports whether the store's record of the message is no longer needed: the message is
// gone, cannot be removed, or has to stay. Otherwise the next start removes it.
func (r *removals) removeMessage(ctx context.Context, editor channels.Editor, e EndedBoard) bool {
	transient := e.Board
	r.box.replacements.remove(messageID{transient.Chat, transient.ID})
	err := r.box.networks.tryUntil(ctx, transient.Chat, removeTimeout, func(ctx context.Context) error {
		return editor.Remove(ctx, transient.Chat, transient.ID)
	})
	var se *channels.SendError
	permanent := errors.As(err, &se) && se.Permanent
	if err != nil && (permanent || ctx.Err() == nil) {
		r.box.o.Log.Warn("transient message not removed", zap.Stringer("chat", transient.Chat), zap.Error(err))
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
