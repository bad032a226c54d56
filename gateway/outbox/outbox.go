// Package outbox stores outgoing messages and sends them: in order within a chat, chats in
// parallel. It also sends, edits and removes transient messages, which exist only while a turn
// runs. It does not know agents, turns, or the origin of messages.
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

// Store is the part of the store that the outbox uses.
type Store interface {
	store.Outbox
	store.Spool
	AddTransient(ctx context.Context, b store.Transient) error
	DropTransient(ctx context.Context, b store.Transient) error
	Transients(ctx context.Context) ([]store.Transient, error)
	Ask(ctx context.Context, q store.Question, l store.Outbound) error
	Question(ctx context.Context, id string) (store.Question, bool, error)
	CountDeliveries(ctx context.Context, inbounds []int64) (map[int64]map[store.State]int, error)
}

// Options configures an Outbox.
type Options struct {
	Store    Store
	Channels map[string]channels.Channel
	// AtMostOnce reports whether the current settings forbid repeating a send with an unknown
	// outcome.
	AtMostOnce func() bool
	Log        *zap.Logger
	Events     events.Func
}

// Outbox sends stored messages. A chat has a goroutine only while it has something to send, so that
// a chat that must wait delays no other.
type Outbox struct {
	o     Options
	tasks *tasks.Group // the goroutines of Run

	reactions reactions

	mu         sync.Mutex
	changed    *sync.Cond                    // broadcast when a field below changes
	chats      map[channels.Chat]*chatSender // chats with a goroutine, or about to have one
	resting    int                           // number of chats that wait for the time of their next delivery
	background int                           // number of other tasks, such as removing a message
	removing   map[messageID]bool            // the messages that are being removed
	removals   map[channels.Chat]int         // how many of them wait until the chat's answers are sent
	deferred   bool                          // too many chats were waiting, so some deliveries are only on disk
	calls      map[int64]func()              // cancels the network call of a delivery
}

// New returns an Outbox. Messages that are posted before Run are sent when it runs.
func New(o Options) *Outbox {
	out := &Outbox{o: o, tasks: tasks.New(), chats: map[channels.Chat]*chatSender{}, removing: map[messageID]bool{}, removals: map[channels.Chat]int{}, calls: map[int64]func(){}}
	out.changed = sync.NewCond(&out.mu)
	return out
}

// Run sends messages until ctx ends, and returns when all its goroutines have ended. Unsent
// messages stay on disk.
func (o *Outbox) Run(ctx context.Context) { o.tasks.Run(ctx) }

// spawn has Run execute a background task, which Idle waits for.
func (o *Outbox) spawn(task func(ctx context.Context)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := o.tasks.Go(func(ctx context.Context) {
		defer o.addTo(&o.background, -1) // runs after spawn has unlocked o.mu
		task(ctx)
	})
	if taken {
		o.background++
	}
}

// addTo changes one of the counters.
func (o *Outbox) addTo(counter *int, by int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*counter += by
	o.changed.Broadcast()
}

// Idle returns when nothing is being sent or removed, except for chats that wait for the time of a
// delivery, or when ctx ends.
func (o *Outbox) Idle(ctx context.Context) {
	o.await(ctx, func() bool {
		waiting := 0
		for chat, n := range o.removals {
			if _, busy := o.chats[chat]; busy {
				waiting += n
			}
		}
		return len(o.chats) == o.resting && o.background == waiting
	})
}

// await waits for a condition, which is checked with o.mu locked, or for the end of ctx.
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
