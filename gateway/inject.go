package gateway

import (
	"slices"
	"sync"

	"go.uber.org/zap"

	"nanobot/gateway/store"
	"nanobot/terminal"
)

// mostInjected bounds what waits for an agent to read it; more is queued behind the turn.
const mostInjected = 16

// injections are the messages that were handed to a turn while it ran.
type injections struct {
	lines  chan terminal.Injection // nil: none are taken
	mu     sync.Mutex
	items  []int64
	texts  []string
	closed bool
}

// add hands a message to the turn, if that takes it. It never waits for the agent.
func (t *turn) add(item store.Item) {
	t.inject.mu.Lock()
	defer t.inject.mu.Unlock()
	// Once one was not taken, a later one must not pass it.
	if t.inject.closed || t.ctx.Err() != nil {
		return
	}
	if err := t.set.Runner.Give(item.In.Chat.ID, item.In.Media); err != nil {
		t.log.Warn("message not handed to the agent at work", zap.Error(err))
		t.inject.closed = true
		return
	}
	select {
	case t.inject.lines <- terminal.Injection{Text: item.In.Text, Media: item.In.Media}:
		t.inject.items = append(t.inject.items, item.ID)
		t.inject.texts = append(t.inject.texts, item.In.Text)
	default: // also when it takes none at all
		t.inject.closed = true
	}
}

// written returns the texts of the messages that were handed to the turn.
func (t *turn) written() []string {
	t.inject.mu.Lock()
	defer t.inject.mu.Unlock()
	return slices.Clone(t.inject.texts)
}

// handed counts the messages that were handed to the turn.
func (t *turn) handed() int {
	t.inject.mu.Lock()
	defer t.inject.mu.Unlock()
	return len(t.inject.items)
}

// injected returns the messages that the agent was handed and has read, and takes no more. The others wait in the inbox all along, and
// get turns of their own.
func (t *turn) injected(unread int) []int64 {
	t.inject.mu.Lock()
	defer t.inject.mu.Unlock()
	t.inject.closed = true
	unread = min(unread+len(t.inject.lines), len(t.inject.items))
	return t.inject.items[:len(t.inject.items)-unread]
}
