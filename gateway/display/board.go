package display

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

const (
	// moveInterval is the shortest time after which a board above newer messages is sent again
	// below them, and maxBelow the number of messages below it that it stays above.
	moveInterval, maxBelow = 10 * time.Second, 2
	// screenMoveInterval is moveInterval for a board that shows a screen. A person types into it,
	// so that it moves below each message.
	screenMoveInterval = 3 * time.Second
	// clockInterval is how often the elapsed time of a long turn is updated.
	clockInterval = 15 * time.Second
	// stoppingDelay is how long a turn that was told to end may take before its board says so. Most
	// turns end sooner.
	stoppingDelay = 200 * time.Millisecond
)

// board is the one message that shows a turn's progress: sent at the first progress frame, or when
// the turn has run for Options.Delay, and edited in place. At the end of the turn it is folded or
// removed. Until then it is a transient message: after a crash the next start folds it if its turn
// has ended, or removes it, and does not send it again.
type board struct {
	d      *Display
	editor channels.Editor // nil: progress is sent as messages
	over   <-chan struct{} // closed at the end of the display
	end    func()          // ends the display
	stored chan struct{}   // closed when the outcome of the turn was stored, or will not be
	hidden func() bool     // the people of the chat see no board

	start  func()      // starts run; only the first call has an effect
	timer  *time.Timer // calls showWhenDue
	wake   chan struct{}
	hurry  chan struct{} // has an element when the next update must not wait for its pace
	id     string        // of the message on the network
	sentAt time.Time

	mu       sync.Mutex
	content  Content
	due      bool        // the turn has run for Options.Delay
	answer   answerState // how the answer that is being written is shown
	stopping bool        // the turn was told to end
	sent     bool        // the board is shown, or is just being sent
	refused  bool        // the network has refused the last change for the moment
	below    int         // number of newer messages below the board
	ended    time.Time   // when the turn has ended; zero: it runs or was cut off
	fold     *store.Fold // what stays of the board of an ended turn; nil: nothing
	// unsendable means that the board may be shown although its ID is unknown: the turn gets no
	// other one.
	unsendable bool
	live       bool        // the message is the live screen of the chat
	answered   atomic.Bool // the last message of the turn replaces the live screen
}

// Content is the content of a board.
type Content struct {
	Text    string
	Screen  *channels.Screen // below the text; nil: no screen
	Buttons []channels.Button
	Step    int            // 0: steps are not counted
	Fold    *terminal.Fold // what stays of the board if the turn ends now; nil: nothing
	// Lasting content stays while an answer is written, such as the steps of a protocol.
	Lasting bool
	// TakenOver means that a person types into the screen.
	TakenOver bool
	// Live means that the screen is the live screen of the chat, which outlives the turn.
	Live bool
}

func newBoard(d *Display) *board {
	b := &board{d: d, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), stored: make(chan struct{})}
	if d.o.Edits {
		b.editor, _ = d.o.Channel.(channels.Editor)
	}
	return b
}

// show changes the content of the board. It reports false when there is no board, so that progress
// must be sent as a message. The fold at the end of a turn is shown only on a board that is there
// already: a shorter turn has none.
func (b *board) show(now Content) bool {
	if b.editor == nil {
		return false
	}
	b.mu.Lock()
	b.content = now
	tooLate := now.Fold != nil && !b.sent
	if tooLate {
		b.content.Fold = &terminal.Fold{} // the caller sends what is required of it
	}
	b.mu.Unlock()
	if tooLate {
		return false
	}
	b.start()
	b.requestUpdate()
	return true
}

// current returns the content of the board.
func (b *board) current() Content {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content
}

// showWhenDue shows a board for a turn that has run for Options.Delay, also without progress. From
// now on the board has the elapsed time.
func (b *board) showWhenDue() {
	if b.editor == nil || isClosed(b.over) {
		return
	}
	b.mu.Lock()
	b.due = true
	b.mu.Unlock()
	b.start()
	b.requestUpdate()
}

// showStopping shows at once that the turn was told to end.
func (b *board) showStopping() {
	if b.editor == nil || isClosed(b.over) {
		return
	}
	b.mu.Lock()
	b.stopping = true
	b.mu.Unlock()
	b.start()
	b.hurry <- struct{}{} // it is called once
	b.requestUpdate()
}

// requestUpdate wakes run.
func (b *board) requestUpdate() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// addBelow records that there are n more messages below the board.
func (b *board) addBelow(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.below += n
}

func (b *board) belowCount() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.below
}

// finish ends the display of a turn that was not cut off. fold is what stays of the board; nil:
// nothing.
func (b *board) finish(fold *store.Fold) {
	b.mu.Lock()
	b.ended, b.fold = time.Now(), fold
	b.mu.Unlock()
	b.end()
}

// run updates the board until over ends, and then folds or removes it. sending is the context of
// network calls.
func (b *board) run(sending, over context.Context) {
	defer b.settle(sending)
	tick := time.NewTicker(clockInterval)
	defer tick.Stop()
	var shown *channels.Outgoing
	for {
		select {
		case <-b.wake:
		case <-tick.C:
		case <-over.Done():
			return
		}
		if b.withdraw() {
			shown = nil
		}
		if out := b.render(); out == nil || looksSame(out, shown) && !b.shouldMove() {
			continue
		}
		if !b.d.pace.wait(over, b.hurry) {
			return
		}
		out := b.render() // the content may have changed during the wait
		if out == nil || looksSame(out, shown) && !b.shouldMove() {
			continue
		}
		if shown = nil; b.sendOrEdit(sending, over, *out) {
			shown = out
		}
	}
}

// sendOrEdit sends or edits the board. It reports false if the same content is to be tried again: a
// failed edit is repeated when the network allows it, since the content may stay for long.
func (b *board) sendOrEdit(sending, over context.Context, out channels.Outgoing) bool {
	if !b.beginSend() {
		return true
	}
	if out.Live {
		return b.showLive(sending, over, out)
	}
	edited := b.id
	if b.shouldMove() {
		edited = ""
	}
	if edited == "" && b.current().Screen != nil {
		b.d.o.Outbox.EndScreen(sending, out.Chat, 0, time.Time{})
	}
	above := b.belowCount() // messages that are posted during the call are below the new board
	// The end of the turn does not cancel the first call: a board with an unknown id could never be
	// removed.
	id, err := b.d.o.Outbox.Show(sending, outbox.Transient{
		Inbound: b.d.o.Inbound.ID, ID: edited, Out: out, Board: true, Over: over,
	})
	if err != nil {
		if b.d.o.Fenced(err) {
			return true
		}
		wait := outbox.RetryAfter(err)
		b.recordFailure(wait)
		b.d.o.Log.Debug("progress not shown", zap.Error(err))
		b.d.pace.delay(wait)
		var se *channels.SendError
		if errors.As(err, &se) && se.Unknown && edited == "" {
			b.giveUpSending() // it may be shown, so that another one could be the second
			return true
		}
		if b.id == "" && wait == 0 || se != nil && se.Permanent {
			return true
		}
		b.requestUpdate()
		return false
	}
	if edited == "" {
		b.remove()
		b.id, b.sentAt = id, time.Now()
		b.addBelow(-above)
		b.d.streamed.repeatDraft() // which the message has removed
	}
	return true
}

// beginSend records that the board is being sent. It reports false if the turn has ended before its
// board was shown: then it gets none.
func (b *board) beginSend() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.sent && b.content.Fold != nil {
		return false
	}
	b.sent, b.refused = true, false
	return true
}

// recordFailure records that the board was not sent or changed, for how long the network refuses
// that.
func (b *board) recordFailure(wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent, b.refused = b.id != "", wait > 0
}

// giveUpSending leaves the board where it is, or the turn without one.
func (b *board) giveUpSending() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.below, b.unsendable = 0, b.id == ""
}

// shouldMove reports whether the board is to be sent again, below newer messages.
func (b *board) shouldMove() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	every, most := moveInterval, maxBelow
	if b.content.Live { // the outbox moves it
		return false
	}
	if b.content.Screen != nil {
		every, most = screenMoveInterval, 0
	}
	return b.id != "" && b.answer == noAnswer && b.below > most && time.Since(b.sentAt) >= every
}

// remove removes a board that was sent again.
func (b *board) remove() {
	if b.id == "" {
		return
	}
	b.d.o.Outbox.Remove(b.record())
}

// record returns the store's record of the board.
func (b *board) record() store.Transient {
	r := b.d.transientRecord(b.id)
	r.Board = true
	return r
}
