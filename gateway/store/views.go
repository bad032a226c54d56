package store

import (
	"context"
	"time"

	"nanobot/channels"
)

// TurnFilter says which turns are looked for.
type TurnFilter struct {
	Chat    channels.Chat // zero: of all chats
	Agent   string        // "": of all agents
	Outcome string        // the state of a turn that is not done, the status of one that is; "": any
	Before  int64         // only those with a lower id; 0: all
	Limit   int
}

// Views are for those who look at the whole.
type Views interface {
	// Turns returns the inbound messages that are, were or wait to be turns, newest first.
	Turns(ctx context.Context, f TurnFilter) ([]Inbound, error)
	// Deliveries returns what the agent said in a turn, in order.
	Deliveries(ctx context.Context, inbound int64) ([]Delivery, error)
	// CountDeliveries counts the same of several turns, by state. A turn that said nothing is not
	// in it.
	CountDeliveries(ctx context.Context, inbounds []int64) (map[int64]map[State]int, error)
	// Trace returns what Finish was given to keep of a turn, or "".
	Trace(ctx context.Context, inbound int64) (string, error)
	// Oldest returns when the pending inbound message came in that waits longest; zero when there
	// is none.
	Oldest(ctx context.Context) (time.Time, error)
}
