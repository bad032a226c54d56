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
	// moveEvery is the shortest time after which a transient message that is above something newer
	// is sent anew below it.
	moveEvery = 10 * time.Second
	// moveScreenEvery is the same for one that shows a screen.
	moveScreenEvery = 3 * time.Second
	// tickEvery is how often the elapsed time of a long turn is renewed.
	tickEvery = 15 * time.Second
)

// transient is the one message that shows a turn's progress: sent at the first word, edited
// as more come, the newest only, and removed at the end. It is no part of the answer: if we die, it
// is removed at the next start and not sent again.
type transient struct {
	t      *Turn
	editor channels.Editor // nil: progress is sent as messages

	start func() // has run called, once
	wake  chan struct{}
	id    string // on the network
	since time.Time

	mu     sync.Mutex
	now    board
	buried bool // something was said since it was sent
}

// board is what the transient message shows.
type board struct {
	text    string
	screen  *channels.Screen // below the text; nil: none
	buttons []channels.Button
}

func newTransient(t *Turn) *transient {
	b := &transient{t: t, wake: make(chan struct{}, 1)}
	if t.set.Progress == EditProgress {
		b.editor, _ = t.ch.(channels.Editor)
	}
	return b
}

// show makes a board what the transient message shows. It reports false when there is no transient
// message and progress is to be a message.
func (b *transient) show(now board) bool {
	if b.editor == nil {
		return false
	}
	b.mu.Lock()
	b.now = now
	b.mu.Unlock()
	b.start()
	b.poke()
	return true
}

// poke has run look what is to be shown.
func (b *transient) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// bury notes that something is said below the transient message.
func (b *transient) bury() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buried = true
}

// Bury says that a message of the person stands below the board, so that it is sent anew below
// that.
func (t *Turn) Bury() {
	t.transient.bury()
	t.transient.poke()
}

// run keeps the transient message up to date until ctx, the turn's, ends, then takes it away.
// sending ends when networks must not be called any longer.
func (b *transient) run(sending, ctx context.Context) {
	defer b.remove()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	var shown *channels.Outgoing
	for {
		select {
		case <-b.wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if out := b.plan(); out == nil || same(out, shown) && !b.sinks() {
			continue
		}
		if !b.t.pace.wait(ctx) {
			return
		}
		out := b.plan() // the newest by now
		if out == nil || same(out, shown) && !b.sinks() {
			continue
		}
		if shown = nil; b.put(sending, *out) {
			shown = out
		}
	}
}

// same reports whether two plans look the same in the chat.
func same(a, b *channels.Outgoing) bool {
	return b != nil && a.Text == b.Text && bytes.Equal(a.Form, b.Form) && slices.Equal(a.Buttons, b.Buttons)
}

// plan returns what to show, with the elapsed time on long turns; nil: nothing. While the turn
// waits for a person, nothing says that the agent is at work.
func (b *transient) plan() *channels.Outgoing {
	b.mu.Lock()
	now := b.now
	b.mu.Unlock()
	text := now.text
	if text == "" && now.screen == nil {
		return nil
	}
	awaits := !b.t.AwaitsSince().IsZero()
	if now.screen == nil && !awaits {
		text = "⏳ " + text
	}
	if took := b.t.elapsed().Truncate(time.Second); took >= tickEvery && !awaits {
		text = strings.TrimSpace(fmt.Sprintf("%s (%s)", text, took-took%now.grain()))
	}
	parts, err := b.t.ch.Plan(channels.Message{
		Chat: b.t.inbound.In.Chat, Kind: channels.Progress, Text: text, ReplyTo: b.t.inbound.In.ID, Screen: now.screen,
		Buttons: append(now.buttons[:len(now.buttons):len(now.buttons)], channels.Button{Label: "Stop", Data: "/stop"}),
	})
	if err != nil || len(parts) == 0 {
		return nil
	}
	return &parts[0]
}

// grain is how exactly the elapsed time is shown. With a screen, which may be drawn again without
// any change, it does not change more often than it is renewed.
func (b board) grain() time.Duration {
	if b.screen == nil {
		return time.Second
	}
	return tickEvery
}

// put sends or edits the transient message, and reports whether it is shown or it is no use to try
// again. An edit that failed is made again when the network allows it: what it shows may stay for
// long.
func (b *transient) put(sending context.Context, out channels.Outgoing) bool {
	edited := b.id
	if b.sinks() {
		edited = ""
	}
	// It is not cut off by the end of the turn: a transient message whose id we do not know could
	// never be removed.
	id, err := b.t.stage.o.Outbox.Show(sending, outbox.Transient{Inbound: b.t.inbound.ID, ID: edited, Out: out})
	if err != nil {
		b.t.log.Debug("progress not shown", zap.Error(err))
		b.t.pace.delay(outbox.RetryAfter(err))
		var se *channels.SendError
		if b.id == "" || errors.As(err, &se) && se.Permanent {
			return true
		}
		b.poke()
		return false
	}
	if edited == "" {
		b.remove()
		b.id, b.since = id, time.Now()
		b.mu.Lock()
		b.buried = false
		b.mu.Unlock()
	}
	return true
}

// sinks reports whether the transient message is to be sent anew, below what was said since.
func (b *transient) sinks() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	every := moveEvery
	if b.now.screen != nil { // which a person types into, one message after the other
		every = moveScreenEvery
	}
	return b.id != "" && b.buried && time.Since(b.since) >= every
}

func (b *transient) remove() {
	if b.id == "" {
		return
	}
	b.t.stage.o.Outbox.Remove(b.t.transientOf(b.id))
}

// transientOf is how a message on the network is noted that is there only while this turn runs.
func (t *Turn) transientOf(id string) store.Transient {
	return store.Transient{Chat: t.inbound.In.Chat, ID: id, Inbound: t.inbound.ID}
}
