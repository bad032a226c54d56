package display

import (
	"context"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
)

// showLive shows the board as the live screen of its chat. It reports false if the same content is
// to be tried again.
func (b *board) showLive(sending context.Context, out channels.Outgoing) bool {
	id, err := b.d.o.Outbox.Show(sending, outbox.Transient{
		Inbound: b.d.o.Inbound.ID, Out: out, Board: true, Current: func() bool { return !b.isAnswered() },
	})
	if err != nil {
		wait := outbox.RetryAfter(err)
		b.recordFailure(wait)
		b.d.o.Log.Debug("screen not shown", zap.Error(err))
		b.d.pace.delay(wait)
		if wait == 0 { // the next change, or the last message of the turn, shows it
			return true
		}
		b.requestUpdate()
		return false
	}
	if !b.live {
		b.remove() // a board from before the first screen
	}
	b.id, b.live = id, true
	return true
}

// endLive says that the last message of the turn replaces the live screen.
func (b *board) endLive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answered = true
}

func (b *board) isAnswered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answered
}

// isLive reports whether the board shows the live screen of its chat.
func (b *board) isLive() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.Live
}

// hasScreen reports whether the board shows a screen.
func (b *board) hasScreen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.Screen != nil
}
