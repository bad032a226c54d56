package gateway

import (
	"context"
	"slices"

	"go.uber.org/zap"

	"nanobot/gateway/store"
	"nanobot/terminal"
)

// mostInjected bounds what waits for an agent to read it; more is queued behind the turn.
const mostInjected = 16

// injections are the messages that were handed to a turn while it ran.
type injections struct {
	lines  chan terminal.Injection // nil: none are taken
	items  []int64
	closed bool
}

// add hands a message to the turn and reports whether it is taken.
func (t *turn) add(item store.Item) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inject.lines == nil || t.inject.closed || t.ctx.Err() != nil {
		return false
	}
	select {
	case t.inject.lines <- terminal.Injection{Text: item.In.Text, Media: item.In.Media}:
		t.inject.items = append(t.inject.items, item.ID)
		return true
	default:
		return false
	}
}

// requeue gives turns of their own to the messages that the agent was handed and did not read.
func (t *turn) requeue(ctx context.Context, unread int) {
	t.mu.Lock()
	t.inject.closed = true
	unread = min(unread+len(t.inject.lines), len(t.inject.items))
	left := t.inject.items[len(t.inject.items)-unread:]
	t.mu.Unlock()
	for _, id := range slices.Backward(left) { // each goes ahead of the others
		if err := t.g.o.Store.Restart(ctx, id); err != nil {
			t.log.Error("message neither injected nor queued", zap.Int64("id", id), zap.Error(err))
		}
	}
}
