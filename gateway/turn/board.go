package turn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
)

const (
	// moveInterval is the shortest time after which a board above newer messages is sent again
	// below them.
	moveInterval = 10 * time.Second
	// screenMoveInterval is moveInterval for a board that shows a screen.
	screenMoveInterval = 3 * time.Second
	// clockInterval is how often the elapsed time of a long turn is updated.
	clockInterval = 15 * time.Second
)

// board is the one message that shows a turn's progress: sent at the first progress frame, edited
// in place, and removed at the end of the turn. It is a transient message: after a crash the next
// start removes it and does not send it again.
type board struct {
	t      *Turn
	editor channels.Editor // nil: progress is sent as messages

	start  func() // starts run; only the first call has an effect
	wake   chan struct{}
	id     string // of the message on the network
	sentAt time.Time

	mu         sync.Mutex
	content    boardContent
	aboveNewer bool // there are newer messages below the board
}

// boardContent is the content of a board.
type boardContent struct {
	text    string
	screen  *channels.Screen // below the text; nil: no screen
	buttons []channels.Button
}

func newBoard(t *Turn) *board {
	b := &board{t: t, wake: make(chan struct{}, 1)}
	if t.settings.Progress == EditProgress {
		b.editor, _ = t.ch.(channels.Editor)
	}
	return b
}

// show changes the content of the board. It reports false when there is no board, so that progress
// must be sent as a message.
func (b *board) show(now boardContent) bool {
	if b.editor == nil {
		return false
	}
	b.mu.Lock()
	b.content = now
	b.mu.Unlock()
	b.start()
	b.requestUpdate()
	return true
}

// requestUpdate wakes run.
func (b *board) requestUpdate() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// markAbove records that there is a newer message below the board.
func (b *board) markAbove() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.aboveNewer = true
}

// MoveBoardDown is called when a person has written a message below the board, which is then sent
// again below it.
func (t *Turn) MoveBoardDown() {
	t.board.markAbove()
	t.board.requestUpdate()
}

// run updates the board until ctx, the turn's context, ends, and then removes it. sending is the
// context of network calls.
func (b *board) run(sending, ctx context.Context) {
	defer b.remove()
	tick := time.NewTicker(clockInterval)
	defer tick.Stop()
	var shown *channels.Outgoing
	for {
		select {
		case <-b.wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if out := b.render(); out == nil || looksSame(out, shown) && !b.shouldMove() {
			continue
		}
		if !b.t.pace.wait(ctx) {
			return
		}
		out := b.render() // the content may have changed during the wait
		if out == nil || looksSame(out, shown) && !b.shouldMove() {
			continue
		}
		if shown = nil; b.sendOrEdit(sending, *out) {
			shown = out
		}
	}
}

// looksSame reports whether two messages look the same in the chat.
func looksSame(a, b *channels.Outgoing) bool {
	return b != nil && a.Text == b.Text && bytes.Equal(a.Form, b.Form) && slices.Equal(a.Buttons, b.Buttons)
}

// render returns the message to show, with the elapsed time on long turns; nil: nothing to show.
// While the turn waits for a person, the message does not claim that the agent is working.
func (b *board) render() *channels.Outgoing {
	b.mu.Lock()
	now := b.content
	b.mu.Unlock()
	text := now.text
	if text == "" && now.screen == nil {
		return nil
	}
	awaits := !b.t.WaitingSince().IsZero()
	if now.screen == nil && !awaits {
		text = "⏳ " + text
	}
	if took := b.t.elapsed().Truncate(time.Second); took >= clockInterval && !awaits {
		text = strings.TrimSpace(fmt.Sprintf("%s (%s)", text, took-took%now.clockPrecision()))
	}
	parts, err := b.t.ch.Plan(channels.Message{
		Chat: b.t.inbound.In.Chat, Kind: channels.Progress, Text: text, ReplyTo: b.t.inbound.In.ID, Screen: now.screen,
		Buttons: append(now.buttons[:len(now.buttons):len(now.buttons)], channels.Button{Label: "Stop", Data: fmt.Sprintf("stop:%d", b.t.inbound.ID)}),
	})
	if err != nil || len(parts) == 0 {
		return nil
	}
	return &parts[0]
}

// clockPrecision is the precision of the elapsed time. With a screen, which may be redrawn often,
// the time changes no more often than clockInterval.
func (b boardContent) clockPrecision() time.Duration {
	if b.screen == nil {
		return time.Second
	}
	return clockInterval
}

// sendOrEdit sends or edits the board. It reports false if the same content is to be tried again: a
// failed edit is repeated when the network allows it, since the content may stay for long.
func (b *board) sendOrEdit(sending context.Context, out channels.Outgoing) bool {
	edited := b.id
	if b.shouldMove() {
		edited = ""
	}
	// The end of the turn does not cancel the call: a board with an unknown id could never be
	// removed.
	id, err := b.t.stage.o.Outbox.Show(sending, outbox.Transient{Inbound: b.t.inbound.ID, ID: edited, Out: out})
	if err != nil {
		b.t.log.Debug("progress not shown", zap.Error(err))
		wait := outbox.RetryAfter(err)
		b.t.pace.delay(wait)
		var se *channels.SendError
		unknown := errors.As(err, &se) && se.Unknown // sending it again could show it twice
		if b.id == "" && (wait == 0 || unknown) || se != nil && se.Permanent {
			return true
		}
		b.requestUpdate()
		return false
	}
	if edited == "" {
		b.remove()
		b.id, b.sentAt = id, time.Now()
		b.mu.Lock()
		b.aboveNewer = false
		b.mu.Unlock()
	}
	return true
}

// shouldMove reports whether the board is to be sent again, below newer messages.
func (b *board) shouldMove() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	every := moveInterval
	if b.content.screen != nil { // a person types into it, one message after the other
		every = screenMoveInterval
	}
	return b.id != "" && b.aboveNewer && time.Since(b.sentAt) >= every
}

func (b *board) remove() {
	if b.id == "" {
		return
	}
	b.t.stage.o.Outbox.Remove(b.t.transientRecord(b.id))
}

// transientRecord returns the store's record of a transient message of this turn.
func (t *Turn) transientRecord(id string) store.Transient {
	return store.Transient{Chat: t.inbound.In.Chat, ID: id, Inbound: t.inbound.ID}
}
