package gateway

import (
	"time"

	"nanobot/channels"
)

// What says what happened.
type What string

// What can happen to a turn, and to something that is sent.
const (
	Queued   What = "queued"
	Started  What = "started"
	Said     What = "said" // the agent said something, also to the log
	Ended    What = "ended"
	Sent     What = "sent"
	Retrying What = "retrying" // a send failed and will be tried again
	Failed   What = "failed"   // and will not
	Unknown  What = "unknown"
)

// Event is something that happened, for those who watch the gateway. It is only a hint: what it is about is in the store, or will be in a
// moment.
type Event struct {
	What What
	Chat channels.Chat
	Item int64 // 0 for something that is sent and belongs to no turn
	// Status and Took are those of a turn that has ended.
	Status string
	Took   time.Duration
}

// tell tells who watches.
func (g *Gateway) tell(e Event) {
	if g.o.Watch != nil {
		g.o.Watch(e)
	}
}
