package intake

import (
	"context"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/internal/tasks"
)

// controlQueue carries out commands in order within a chat and in parallel across chats.
type controlQueue struct {
	tasks *tasks.Group

	mu    sync.Mutex
	chats map[channels.Chat]*chatControls
}

// chatControls are the waiting and running commands of a chat.
type chatControls struct {
	waiting []func(context.Context)
	done    chan struct{} // closed when no command is left
}

func newControlQueue() *controlQueue {
	return &controlQueue{tasks: tasks.New(), chats: map[channels.Chat]*chatControls{}}
}

// enqueue has a command carried out after the earlier ones of its chat. It does not wait for the
// command.
func (q *controlQueue) enqueue(chat channels.Chat, command func(context.Context)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.chats[chat]; c != nil {
		c.waiting = append(c.waiting, command)
		return
	}
	c := &chatControls{waiting: []func(context.Context){command}, done: make(chan struct{})}
	q.chats[chat] = c
	if !q.tasks.Go(func(ctx context.Context) { q.drain(ctx, chat, c) }) { // the gateway is shutting down
		delete(q.chats, chat)
		close(c.done)
	}
}

func (q *controlQueue) drain(ctx context.Context, chat channels.Chat, c *chatControls) {
	for {
		q.mu.Lock()
		if len(c.waiting) == 0 {
			delete(q.chats, chat)
			close(c.done)
			q.mu.Unlock()
			return
		}
		next := c.waiting[0]
		c.waiting = c.waiting[1:]
		q.mu.Unlock()
		next(ctx)
	}
}

// await waits until the commands of a chat are done, at most until the timeout.
func (q *controlQueue) await(ctx context.Context, chat channels.Chat, timeout time.Duration) {
	q.mu.Lock()
	c := q.chats[chat]
	q.mu.Unlock()
	if c == nil {
		return
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// RunControls carries out the commands of agents' protocols until ctx ends.
func (cs *controls) RunControls(ctx context.Context) { cs.queue.tasks.Run(ctx) }

// IdleControls returns when no command is being carried out, or when ctx ends.
func (cs *controls) IdleControls(ctx context.Context) { cs.queue.tasks.WaitIdle(ctx) }
