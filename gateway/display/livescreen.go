package display

import (
	"context"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
)

// showLive shows the board as the live screen of its chat. It reports false if the same content is
// to be tried again.
func (b *board) showLive(sending, over context.Context, out channels.Outgoing) bool {
	id, err := b.d.o.Outbox.Show(sending, outbox.Transient{
		Inbound: b.d.o.Inbound.ID, Out: out, Board: true, Over: over,
		Current: func() bool { return !b.answered.Load() },
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
