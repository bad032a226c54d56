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
	"nanobot/internal/words"
)

// Store is the part of the store that the outbox uses.
type Store interface {
	store.Outbox
	store.Spool
	AddTransient(ctx context.Context, b store.Transient) error
	DropTransient(ctx context.Context, b store.Transient) error
	Transients(ctx context.Context) ([]store.Transient, error)
	Inbound(ctx context.Context, id int64) (store.Inbound, bool, error)
	ReplaceFold(ctx context.Context, inbound int64) error
	EndFold(ctx context.Context, board store.Transient) error
	Ask(ctx context.Context, q store.Question, l store.Outbound) error
	Question(ctx context.Context, id string) (store.Question, bool, error)
	OpenQuestions(ctx context.Context, chat channels.Chat) ([]store.Question, error)
	Withdraw(ctx context.Context, id string) (bool, error)
	store.Memories
}

// Options configures an Outbox.
type Options struct {
	Store    Store
	Channels map[string]channels.Channel
	// AtMostOnce reports whether the current settings forbid repeating a send with an unknown
	// outcome.
	AtMostOnce func() bool
	Words      *words.Catalogue // nil: without the operator's settings
	Log        *zap.Logger
	Events     events.Func
}

// Outbox sends stored messages. A chat has a goroutine only while it has something to send, so that
// a chat that must wait delays no other.
type Outbox struct {
	*calls
	*reach
	o            Options
	tasks        *tasks.Group // the goroutines of Run
	replacements replacements
	screens      liveScreens

	reactions latest[messageID, pendingReaction] // to messages of people
	questions latest[string, questionChange]     // changes of the messages of questions, by ID

	mu         sync.Mutex
	changed    *sync.Cond                    // broadcast when a field below changes
	chats      map[channels.Chat]*chatSender // chats with a goroutine, or about to have one
	resting    int                           // number of chats that wait for the time of their next delivery
	enqueuing  map[channels.Chat]int         // number of messages that are being stored
	background map[*backgroundTask]bool      // other tasks, such as removing a message
	removing   map[messageID]bool            // the messages that are being removed or folded
	deferred   bool                          // too many chats were waiting, so some deliveries are only on disk
	partial    map[int64]bool                // deliveries of which a channel sends only the rest; see channels.SendError
}

// New returns an Outbox. Messages that are posted before Run are sent when it runs.
func New(o Options) *Outbox {
	out := &Outbox{
		o: o, tasks: tasks.New(), chats: map[channels.Chat]*chatSender{}, enqueuing: map[channels.Chat]int{},
		background: map[*backgroundTask]bool{}, removing: map[messageID]bool{}, partial: map[int64]bool{},
		calls: &calls{cancel: map[int64]func(){}}, reach: newReach(),
		replacements: replacements{pending: map[messageID]*replacement{}},
		screens: liveScreens{
			store: o.Store, log: o.Log, locked: map[channels.Chat]chan struct{}{}, covered: map[channels.Chat]bool{},
		},
	}
	out.changed = sync.NewCond(&out.mu)
	return out
}

// Run sends messages until ctx ends, and returns when all its goroutines have ended. Unsent
// messages stay on disk.
func (box *Outbox) Run(ctx context.Context) { box.tasks.Run(ctx) }

// addTo changes one of the counters.
func (box *Outbox) addTo(counter *int, by int) {
	box.mu.Lock()
	defer box.mu.Unlock()
	*counter += by
	box.changed.Broadcast()
}

// await waits for a condition, which is checked with mu locked, or for the end of ctx.
func (box *Outbox) await(ctx context.Context, condition func() bool) {
	stop := context.AfterFunc(ctx, func() {
		box.mu.Lock()
		defer box.mu.Unlock()
		box.changed.Broadcast()
	})
	defer stop()
	box.mu.Lock()
	defer box.mu.Unlock()
	for !condition() && ctx.Err() == nil {
		box.changed.Wait()
	}
}

// holds reports whether a condition holds, which is checked with mu locked.
func (box *Outbox) holds(condition func() bool) bool {
	box.mu.Lock()
	defer box.mu.Unlock()
	return condition()
}
