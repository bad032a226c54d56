// Package outbox stores what is to be sent and sends it: in order within a chat, chats side by
// side. It also shows, edits and removes the messages that are on a network only while a turn runs.
// It knows nothing of agents, of turns, nor of where messages come from.
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
	AddTransient(ctx context.Context, b store.Transient) error
	DropTransient(ctx context.Context, b store.Transient) error
	Transients(ctx context.Context) ([]store.Transient, error)
	Ask(ctx context.Context, q store.Question, l store.Outbound) error
	Question(ctx context.Context, id string) (store.Question, bool, error)
}

// Options is what an outbox is made of.
type Options struct {
	Store    Store
	Channels map[string]channels.Channel
	// AtMostOnce says, now, what is done about a send whose outcome is unknown: it is not repeated
	// if true.
	AtMostOnce func() bool
	Log        *zap.Logger
	Events     events.Func
}

// Outbox sends what is stored. A chat has a goroutine only while it has something to send, so that
// one that must wait delays no other.
type Outbox struct {
	o     Options
	tasks *tasks.Group // the goroutines of Run

	mu         sync.Mutex
	changed    *sync.Cond                   // broadcast when one of these changes
	chats      map[channels.Chat]*chatQueue // chats with a goroutine, or about to have one
	resting    int                          // how many of them wait for their time
	background int                          // what else is done, such as removing a message
	deferred   bool                         // too many chats waited for their time; what they have to send is on disk
	calls      map[int64]func()             // ends the network call of a delivery early
}

// New returns an outbox. Run sends; what is posted before is sent once it runs.
func New(o Options) *Outbox {
	out := &Outbox{o: o, tasks: tasks.New(), chats: map[channels.Chat]*chatQueue{}, calls: map[int64]func(){}}
	out.changed = sync.NewCond(&out.mu)
	return out
}

// Run sends until ctx ends, and returns when no goroutine is left. What is not sent by then stays
// on disk.
func (o *Outbox) Run(ctx context.Context) { o.tasks.Run(ctx) }

// spawn has Run do something beside the sending, which Idle waits for.
func (o *Outbox) spawn(task func(ctx context.Context)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := o.tasks.Go(func(ctx context.Context) {
		defer o.add(&o.background, -1) // which waits for o.mu
		task(ctx)
	})
	if taken {
		o.background++
	}
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
