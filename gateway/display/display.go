// Package display shows a turn in its chat while it runs: the board, the answer as it is written,
// the typing indicator and reactions. It also converts screens and buttons of agents' protocols
// into those that channels send. It knows nothing of how turns run.
package display

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/internal/tasks"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// Outbox shows transient messages.
type Outbox interface {
	// Show sends or edits a transient message, which exists only while its turn runs. Remove
	// removes it, and RemoveLeft at the end of the turn those that no message replaces soon.
	Show(ctx context.Context, t outbox.Transient) (id string, err error)
	Remove(t store.Transient)
	RemoveLeft(ctx context.Context, chat channels.Chat, inbound int64, ids []string) error
	// EndBoard folds or removes the board of an ended turn, when its messages were sent.
	EndBoard(e outbox.EndedBoard)
	// React shows a reaction to a person's message in the background, ReactWhenSent when the
	// network has confirmed the answers to it.
	React(chat channels.Chat, id string, r channels.Reaction)
	ReactWhenSent(chat channels.Chat, id string, inbound int64, r channels.Reaction)
	// Call makes a network call about a chat, unless the chat accepts nothing.
	Call(chat channels.Chat, call func() error) error
	// Empty reports whether no message waits to be sent to a chat.
	Empty(ctx context.Context, chat channels.Chat) bool
	// MoveScreenDown is called when a newer message is below the live screen of a chat. EndScreen
	// removes the live screen, if it shows the turn of an inbound message; 0: any. The last message
	// of a turn that has ended before may replace the screen first; zero: none does.
	MoveScreenDown(ctx context.Context, chat channels.Chat)
	EndScreen(ctx context.Context, chat channels.Chat, run int64, ended time.Time)
}

// DefaultDelay is how long a turn runs before it has a board without a progress frame. A board for
// a shorter turn would only disturb.
const DefaultDelay = 3 * time.Second

// Options configures the display of a turn.
type Options struct {
	Inbound store.Inbound    // the message that the turn works on
	Channel channels.Channel // nil: it is no longer enabled
	Outbox  Outbox
	Words   words.Words
	Edits   bool          // progress and answers are shown in messages that are edited in place
	Delay   time.Duration // before a turn without a progress frame has a board
	Tasks   *tasks.Group  // shows turns; an ended turn does not wait for it
	Log     *zap.Logger

	// Elapsed returns how long the turn has worked, without waiting for people; AwaitsPerson
	// reports whether it waits for one.
	Elapsed      func() time.Duration
	AwaitsPerson func() bool
	// NotStarted reports whether the agent cannot be started at the moment.
	NotStarted func() bool
	// HidesBoard reports whether the people of the chat want no board and no progress.
	HidesBoard func(ctx context.Context) bool
	// Fenced is called with the errors of transient messages, and reports whether another member
	// has the turn.
	Fenced func(error) bool
}

// Display shows one turn.
type Display struct {
	o        Options
	board    *board
	streamed *streamedAnswer
	pace     pacing
	left     atomic.Bool // another member has the turn, and removes what is shown of it
}

// New returns a display that shows nothing before Start.
func New(o Options) *Display {
	d := &Display{o: o}
	d.board, d.streamed = newBoard(d), newStreamedAnswer(d)
	return d
}

// Start prepares the display. Its goroutines start only when there is something to show, since most
// turns are too short for that. The turn does not wait for them, because a hanging network must not
// delay the chat; the shutdown waits for them. The board stays until untilKilled ends or Finish is
// called, the unfinished answer until accepting ends, the typing indicator until working ends. stop
// is called when the agent has ended.
func (d *Display) Start(untilKilled, working, accepting context.Context) (stop func()) {
	over, end := context.WithCancel(untilKilled) // an abandoned turn has a board until it is finished
	d.board.over, d.board.end = over.Done(), end
	d.board.hidden = sync.OnceValue(func() bool {
		return d.board.editor == nil || d.o.HidesBoard(context.WithoutCancel(working))
	})
	d.board.start = d.OnDemand(func(sending context.Context) { d.board.run(sending, over) })
	d.streamed.start = d.OnDemand(func(sending context.Context) { d.streamed.run(sending, accepting) })
	d.board.timer = time.AfterFunc(d.o.Delay, d.board.showWhenDue)
	stopTyping := func() bool { return false }
	if typer, ok := d.o.Channel.(channels.Typer); ok && !d.o.Inbound.In.Quiet {
		stopTyping = time.AfterFunc(typingDelay, func() {
			d.o.Tasks.Go(func(context.Context) { d.showTyping(working, typer) })
		}).Stop
	}
	return func() {
		d.board.timer.Stop()
		stopTyping()
	}
}

// OnDemand returns a function whose first call starts a task.
func (d *Display) OnDemand(task func(sending context.Context)) func() {
	return sync.OnceFunc(func() { d.o.Tasks.Go(task) })
}

// ShowProgress changes the content of the board. It reports false when there is no board, so that
// progress must be sent as a message.
func (d *Display) ShowProgress(now Content) bool { return d.board.show(now) }

// ShowUnfinished shows an answer that the agent is still writing.
func (d *Display) ShowUnfinished(text string, format channels.Format) { d.streamed.show(text, format) }

// ShowStoppingLater shows that the turn was told to end, if it takes longer than most turns do.
func (d *Display) ShowStoppingLater() (cancel func() bool) {
	return time.AfterFunc(stoppingDelay, d.board.showStopping).Stop
}

// Refresh shows what Elapsed and AwaitsPerson return now.
func (d *Display) Refresh() { d.board.requestUpdate() }

// MessageBelow records that there is one more message below the board.
func (d *Display) MessageBelow() { d.board.addBelow(1) }

// MoveDown is called when a person has written a message below the board, which is sent again below
// it when there are too many.
func (d *Display) MoveDown() {
	d.MessageBelow()
	if d.board.current().Live {
		d.o.Tasks.Go(func(ctx context.Context) { d.o.Outbox.MoveScreenDown(ctx, d.o.Inbound.In.Chat) })
	}
	d.Refresh()
}

// HasBoard reports whether the board is shown, or is just being sent, and the network has not
// refused its last change for the moment: it would hardly be folded in time.
func (d *Display) HasBoard() bool {
	d.board.mu.Lock()
	defer d.board.mu.Unlock()
	return d.board.sent && !d.board.refused
}

// Hidden reports whether the people of the chat see no board.
func (d *Display) Hidden() bool { return d.board.hidden() }

// PostAnswer posts a complete message whose beginning may be shown already.
func (d *Display) PostAnswer(m *outbox.Message, post func(*outbox.Message) error) error {
	var surplus []outbox.Shown
	m.Replace, surplus, m.ShownText = d.streamed.finish()
	if m.Live {
		d.board.answered.Store(true)
	}
	if err := post(m); err != nil {
		return err // what is shown is removed at the end of the turn
	}
	d.board.addBelow(max(max(m.Calls(), 1)-len(m.Replace), 0)) // the others were below it before
	for _, s := range append(m.Unused(), surplus...) {
		d.o.Outbox.Remove(d.transientRecord(s.ID))
	}
	return nil
}

// Finish ends the board of a turn that was not cut off. It returns what stays of it, which is to be
// stored with the outcome of the turn; nil: nothing.
func (d *Display) Finish(status terminal.Status) *store.Fold {
	fold := d.board.current().Fold
	if fold == nil || fold.Steps == 0 && !fold.Required || d.board.hidden() {
		d.board.finish(nil)
		return nil
	}
	stored := storedFold(d.o.Words, *fold, turnEnd{status, d.o.Elapsed()})
	d.board.finish(stored)
	return stored
}

// OutcomeStored says that the outcome of the turn was stored, or will not be.
func (d *Display) OutcomeStored() { close(d.board.stored) }

// Leave says that another member has the turn: what is shown of it is left to that member.
func (d *Display) Leave() { d.left.Store(true) }

// transientRecord returns the store's record of a transient message of this turn.
func (d *Display) transientRecord(id string) store.Transient {
	return store.Transient{Chat: d.o.Inbound.In.Chat, ID: id, Inbound: d.o.Inbound.ID}
}

// isClosed reports whether a channel is closed; nil is not.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// typingDelay is how long an agent works before the typing indicator is shown, and typingInterval
// how often it is renewed: networks show it for some five seconds.
const typingDelay, typingInterval = 300 * time.Millisecond, 4 * time.Second

// showTyping renews the typing indicator, except while the turn waits for a person.
func (d *Display) showTyping(ctx context.Context, typer channels.Typer) {
	for ; ctx.Err() == nil; retry.Sleep(ctx, typingInterval) {
		if d.o.AwaitsPerson() {
			continue
		}
		chat := d.o.Inbound.In.Chat
		err := d.o.Outbox.Call(chat, func() error { return typer.Typing(ctx, chat) })
		if err != nil && ctx.Err() == nil {
			d.o.Log.Debug("typing indicator not shown", zap.Error(err))
		}
	}
}
