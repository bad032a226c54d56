// Package outbox stores outgoing messages and sends them: in order within a chat, chats in
// parallel. It also sends, edits and removes transient messages, which exist only while a turn
// runs. It does not know agents, turns, or the origin of messages.
package outbox

import (
	"context"
	"sync"
	"time"

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
	// EndReaction returns the reaction to an inbound message whose turn has ended; false: there is
	// none. It is called for the answers of an earlier run; nil: they lead to no reaction.
	EndReaction func(store.Inbound) (channels.Reaction, bool)
	// Guard is asked right before a message is sent, and forbids it with an error; nil: it does
	// not.
	Guard  func() error
	Record Recorder         // nil: deliveries are not recorded
	Words  *words.Catalogue // nil: without the operator's settings
	Log    *zap.Logger
	Events events.Func
}

// Recorder is told of deliveries, from many goroutines. It must not block.
type Recorder interface {
	// Sending is called before each try of a delivery, and Settled with its final result.
	Sending(delivery store.Delivery)
	Settled(delivery store.Delivery, end store.Settlement)
}

// Outbox sends stored messages. A chat has a goroutine only while it has something to send, so that
// a chat that must wait delays no other.
type Outbox struct {
	o            Options
	tasks        *tasks.Group // the goroutines of Run
	replacements replacements
	screens      liveScreens
	networks     *networkState
	calls        calls
	removals     removals
	reactions    reactions
	questions    latest[string, questionChange] // changes of the messages of questions, by ID
	menus        latest[channels.Chat, func(context.Context) error]

	mu         sync.Mutex
	changed    *sync.Cond                    // broadcast when a field below changes
	chats      map[channels.Chat]*chatSender // chats with a goroutine, or about to have one
	loads      channelLoads
	enqueuing  map[channels.Chat]int    // number of messages that are being stored
	background map[*backgroundTask]bool // other tasks, such as removing a message
}

// New returns an Outbox. Messages that are posted before Run are sent when it runs.
func New(o Options) *Outbox {
	out := &Outbox{
		o: o, tasks: tasks.New(), chats: map[channels.Chat]*chatSender{}, enqueuing: map[channels.Chat]int{},
		background: map[*backgroundTask]bool{}, loads: channelLoads{},
		calls: calls{cancel: map[int64]func(){}, partial: map[int64]bool{}}, networks: newNetworkState(o.Channels),
		replacements: replacements{pending: map[messageID]*replacement{}},
		screens: liveScreens{
			store: o.Store, log: o.Log, locked: map[channels.Chat]chan struct{}{}, covered: map[channels.Chat]bool{},
		},
	}
	out.changed = sync.NewCond(&out.mu)
	out.reactions.box, out.reactions.began, out.screens.box = out, time.Now(), out
	out.removals = removals{box: out, ongoing: map[messageID]bool{}}
	return out
}

// Run sends messages until ctx ends, and returns when all its goroutines have ended. Unsent
// messages stay on disk.
func (box *Outbox) Run(ctx context.Context) { box.tasks.Run(ctx) }

// Call makes a network call about a chat, unless the chat accepts nothing: then it returns the
// error that has said so.
func (box *Outbox) Call(chat channels.Chat, call func() error) error {
	return box.networks.call(chat, call)
}

// Reopen is called when somebody has written in a chat, which may accept messages again.
func (box *Outbox) Reopen(chat channels.Chat) { box.networks.reopen(chat) }

// Abort cancels the network calls of deliveries that must not be repeated.
func (box *Outbox) Abort(deliveries []int64) { box.calls.abort(deliveries) }

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
