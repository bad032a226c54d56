package outbox

import (
	"context"
	"time"

	"nanobot/channels"
)

// idleDelay is how long Idle waits for the tasks besides sending. Most take less; the next start
// removes the messages that were not removed by then.
const idleDelay = 3 * time.Second

// backgroundTask is a task besides sending, such as removing a message.
type backgroundTask struct {
	awaitsAnswers bool // it waits until the answers of chat are sent
	chat          channels.Chat
}

// spawn has Run execute a background task.
func (box *Outbox) spawn(task func(ctx context.Context, b *backgroundTask)) {
	box.mu.Lock()
	defer box.mu.Unlock()
	b := &backgroundTask{}
	taken := box.tasks.Go(func(ctx context.Context) {
		defer func() { // runs after spawn has unlocked mu
			box.mu.Lock()
			defer box.mu.Unlock()
			delete(box.background, b)
			box.changed.Broadcast()
		}()
		task(ctx, b)
	})
	if taken {
		box.background[b] = true
	}
}

// Idle returns when nothing is being sent, except for chats that wait for the time of a delivery,
// and the background tasks have ended or had idleDelay to end, or when ctx ends.
func (box *Outbox) Idle(ctx context.Context) {
	for again := true; again && ctx.Err() == nil; {
		box.await(ctx, box.loads.nothingSent)
		soon, cancel := context.WithTimeout(ctx, idleDelay)
		box.await(soon, func() bool { return box.loads.nothingSent() && !box.hasActiveTask() })
		cancel()
		box.mu.Lock()
		again = !box.loads.nothingSent()
		box.mu.Unlock()
	}
}

// hasActiveTask reports whether a background task does something. A task that waits for the answers
// of a chat does nothing while the chat has a goroutine. The caller holds mu.
func (box *Outbox) hasActiveTask() bool {
	for b := range box.background {
		if _, served := box.chats[b.chat]; !b.awaitsAnswers || !served {
			return true
		}
	}
	return false
}
