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
func (o *Outbox) spawn(task func(ctx context.Context, b *backgroundTask)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := &backgroundTask{}
	taken := o.tasks.Go(func(ctx context.Context) {
		defer o.endTask(b) // runs after spawn has unlocked o.mu
		task(ctx, b)
	})
	if taken {
		o.background[b] = true
	}
}

func (o *Outbox) endTask(b *backgroundTask) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.background, b)
	o.changed.Broadcast()
}

// Idle returns when nothing is being sent, except for chats that wait for the time of a delivery,
// and the background tasks have ended or had idleDelay to end, or when ctx ends.
func (o *Outbox) Idle(ctx context.Context) {
	nothingSent := func() bool { return len(o.chats) == o.resting }
	for again := true; again && ctx.Err() == nil; {
		o.await(ctx, nothingSent)
		soon, cancel := context.WithTimeout(ctx, idleDelay)
		o.await(soon, func() bool { return nothingSent() && !o.hasActiveTask() })
		cancel()
		o.mu.Lock()
		again = !nothingSent()
		o.mu.Unlock()
	}
}

// hasActiveTask reports whether a background task does something. A task that waits for the answers
// of a chat does nothing while the chat has a goroutine. The caller holds mu.
func (o *Outbox) hasActiveTask() bool {
	for b := range o.background {
		if _, served := o.chats[b.chat]; !b.awaitsAnswers || !served {
			return true
		}
	}
	return false
}
