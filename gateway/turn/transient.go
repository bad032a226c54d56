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
	// moveEvery is the shortest time after which a transient message that is above something newer
	// is sent anew below it.
	moveEvery = 10 * time.Second
	// tickEvery is how often the elapsed time of a long turn is renewed.
	tickEvery = 15 * time.Second
)

// transient is the one message that shows a turn's progress: sent at the first word, edited
// as more come, the newest only, and removed at the end. It is no part of the answer: if we die, it
// is removed at the next start and not sent again.
type transient struct {
	t      *Turn
	editor channels.Editor // nil: progress is sent as messages

	wake  chan struct{}
	id    string // on the network
	since time.Time

	mu     sync.Mutex
	text   string
	buried bool // something was said since it was sent
}

func newTransient(t *Turn) *transient {
	b := &transient{t: t, wake: make(chan struct{}, 1)}
	if t.set.Progress == EditProgress {
		b.editor, _ = t.ch.(channels.Editor)
	}
	return b
}

// show makes text what the transient message says. It reports false when there is no transient
// message and progress is to be a message.
func (b *transient) show(text string) bool {
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

// bury notes that something is said below the transient message.
func (b *transient) bury() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buried = true
}

// run keeps the transient message up to date until ctx, the turn's, ends, then takes it away.
// sending ends when networks must not be called any longer.
func (b *transient) run(sending, ctx context.Context) {
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
func (b *transient) render() string {
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

// put sends or edits the transient message. What goes wrong is not worth a retry: the next word is
// about to come.
func (b *transient) put(sending context.Context, text string) {
	m := channels.Message{
		Chat: b.t.inbound.In.Chat, Kind: channels.Progress, Text: text, ReplyTo: b.t.inbound.In.ID,
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
	// It is not cut off by the end of the turn: a transient message whose id we do not know could
	// never be removed.
	id, err := b.t.stage.o.Outbox.Show(sending, outbox.Transient{Inbound: b.t.inbound.ID, ID: edited, Out: parts[0]})
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

// sinks reports whether the transient message is to be sent anew, below what was said since.
func (b *transient) sinks() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.buried || time.Since(b.since) < moveEvery {
		return false
	}
	b.buried = false
	return true
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
