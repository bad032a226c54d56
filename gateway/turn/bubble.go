package turn

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
)

const (
	// moveEvery is the shortest time after which a bubble that is above something newer is sent
	// anew below it.
	moveEvery = 10 * time.Second
	// tickEvery is how often the elapsed time of a long turn is renewed.
	tickEvery = 15 * time.Second
)

// bubble is the one message that shows a turn's progress: sent at the first word, edited as more
// come, the newest only, and removed at the end. It is no part of the answer: if we die, it is
// removed at the next start and not sent again.
type bubble struct {
	t      *Turn
	editor channels.Editor // nil: progress is sent as messages

	wake  chan struct{}
	id    string // on the network
	since time.Time

	mu     sync.Mutex
	text   string
	buried bool // something was said since it was sent
}

func newBubble(t *Turn) *bubble {
	b := &bubble{t: t, wake: make(chan struct{}, 1)}
	if t.set.Progress == EditProgress {
		b.editor, _ = t.ch.(channels.Editor)
	}
	return b
}

// show makes text what the bubble says. It reports false when there is no bubble and progress is to
// be a message.
func (b *bubble) show(text string) bool {
	if b.editor == nil {
		return false
	}
	b.mu.Lock()
	b.text = text
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return true
}

// bury notes that something is said below the bubble.
func (b *bubble) bury() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buried = true
}

// run keeps the bubble up to date until ctx, the turn's, ends, then takes it away. sending ends
// when networks must not be called any longer.
func (b *bubble) run(sending, ctx context.Context) {
	defer b.remove()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	shown := ""
	for {
		select {
		case <-b.wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if text := b.render(); text == "" || text == shown {
			continue
		}
		if !b.t.pace.wait(ctx) {
			return
		}
		shown = b.render() // the newest by now
		b.put(sending, shown)
	}
}

// render returns what to show, with the elapsed time on long turns.
func (b *bubble) render() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.text == "" {
		return ""
	}
	took := time.Since(b.t.began).Truncate(time.Second)
	if took < tickEvery {
		return "⏳ " + b.text
	}
	return fmt.Sprintf("⏳ %s (%s)", b.text, took)
}

// put sends or edits the bubble. What goes wrong is not worth a retry: the next word is about to
// come.
func (b *bubble) put(sending context.Context, text string) {
	m := channels.Message{
		Chat: b.t.item.In.Chat, Kind: channels.Progress, Text: text, ReplyTo: b.t.item.In.ID,
		Buttons: []channels.Button{{Label: "Stop", Data: "/stop"}},
	}
	parts, err := b.t.ch.Plan(m)
	if err != nil || len(parts) == 0 {
		return
	}
	edited := b.id
	if edited != "" && b.sinks() {
		edited = ""
	}
	// It is not cut off by the end of the turn: a bubble whose id we do not know could never be
	// removed.
	id, err := b.t.stage.o.Outbox.Show(sending, outbox.Transient{Item: b.t.item.ID, ID: edited, Out: parts[0]})
	if err != nil {
		b.t.log.Debug("progress not shown", zap.Error(err))
		b.t.pace.delay(outbox.RetryAfter(err))
		return
	}
	if edited == "" {
		b.remove()
		b.id, b.since = id, time.Now()
	}
}

// sinks reports whether the bubble is to be sent anew, below what was said since.
func (b *bubble) sinks() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.buried || time.Since(b.since) < moveEvery {
		return false
	}
	b.buried = false
	return true
}

func (b *bubble) remove() {
	if b.id == "" {
		return
	}
	b.t.stage.o.Outbox.Remove(b.t.bubbleOf(b.id))
}

// bubbleOf is how a message on the network is noted that is there only while this turn runs.
func (t *Turn) bubbleOf(id string) store.Bubble {
	return store.Bubble{Chat: t.item.In.Chat, ID: id, Item: t.item.ID}
}
