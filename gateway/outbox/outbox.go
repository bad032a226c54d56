// Package outbox stores what is to be sent and sends it: in order within a chat, chats side by side. It also shows, edits and removes the
// messages that are on a network only while a turn runs. It knows nothing of agents, of turns, nor of where messages come from.
package outbox

import (
	"context"
	"sync"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
	"nanobot/internal/tasks"
)

// Store is what the outbox keeps on disk.
type Store interface {
	store.Outbox
	store.Spool
	AddBubble(ctx context.Context, b store.Bubble) error
	DropBubble(ctx context.Context, b store.Bubble) error
	Bubbles(ctx context.Context) ([]store.Bubble, error)
	Ask(ctx context.Context, q store.Question, l store.Letter) error
	Question(ctx context.Context, id string) (store.Question, bool, error)
}

// Options is what an outbox is made of.
type Options struct {
	Store    Store
	Channels map[string]channels.Channel
	// AtMostOnce says, now, what is done about a send whose outcome is unknown: it is not repeated if true.
	AtMostOnce func() bool
	Log        *zap.Logger
	Events     events.Func
}

// Outbox sends what is stored. A chat has a goroutine only while it has something to send, so that one that must wait delays no other.
type Outbox struct {
	o    Options
	wake chan struct{} // something is queued for Run

	mu         sync.Mutex
	changed    *sync.Cond // broadcast when one of these changes
	queued     []func(ctx context.Context)
	chats      map[channels.Chat]*chatQueue // chats with a goroutine, or about to have one
	resting    int                          // how many of them wait for their time
	background int                          // what else is done, such as removing a message
	deferred   bool                         // too many chats waited for their time; what they have to send is on disk
	calls      map[int64]func()             // ends the network call of a delivery early
	ended      bool                         // Run starts nothing more
}

// New returns an outbox. Run sends; what is posted before is sent once it runs.
func New(o Options) *Outbox {
	out := &Outbox{o: o, wake: make(chan struct{}, 1), chats: map[channels.Chat]*chatQueue{}, calls: map[int64]func(){}}
	out.changed = sync.NewCond(&out.mu)
	return out
}

// Run sends until ctx ends, and returns when no goroutine is left. What is not sent by then stays on disk.
func (o *Outbox) Run(ctx context.Context) error {
	var running tasks.Group
	for ctx.Err() == nil {
		o.start(ctx, &running)
		select {
		case <-o.wake:
		case <-ctx.Done():
		}
	}
	// What is queued now is started as well: it records that a delivery was not sent.
	for more := true; more; more = o.start(ctx, &running) {
		running.Wait()
	}
	return nil
}

// start starts what is queued. It reports false when nothing is.
func (o *Outbox) start(ctx context.Context, running *tasks.Group) bool {
	o.mu.Lock()
	queued := o.queued
	o.queued = nil
	o.ended = ctx.Err() != nil && len(queued) == 0
	o.mu.Unlock()
	for _, task := range queued {
		running.Go(func() { task(ctx) })
	}
	return len(queued) > 0
}

// queue has Run start a goroutine. It is called with o.mu.
func (o *Outbox) queue(task func(ctx context.Context)) {
	o.queued = append(o.queued, task)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// spawn has Run do something beside the sending, which Idle waits for.
func (o *Outbox) spawn(task func(ctx context.Context)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	o.background++
	o.queue(func(ctx context.Context) {
		defer o.add(&o.background, -1)
		task(ctx)
	})
}

// add changes one of the counters.
func (o *Outbox) add(counter *int, by int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*counter += by
	o.changed.Broadcast()
}

// Idle returns when nothing is being sent or removed but what waits for its time, or when ctx ends.
func (o *Outbox) Idle(ctx context.Context) {
	o.await(ctx, func() bool { return len(o.chats) == o.resting && o.background == 0 })
}

// await waits for a condition, which is checked with o.mu, or for the end of ctx.
func (o *Outbox) await(ctx context.Context, condition func() bool) {
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changed.Broadcast()
	})
	defer stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for !condition() && ctx.Err() == nil {
		o.changed.Wait()
	}
}
