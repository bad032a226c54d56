package store

import (
	"context"
	"time"

	"nanobot/channels"
)

// TurnFilter selects turns.
type TurnFilter struct {
	Chat    channels.Chat // zero: all chats
	Agent   string        // "": all agents
	Origin  string        // as channels.Origin.String returns it; "": any
	Outcome string        // the state of an unfinished turn, or the status of a finished one; "": any
	Before  int64         // only turns with a lower ID; 0: all
	Limit   int
}

// Views are queries across all chats, for the console and the health check.
type Views interface {
	// Turns returns the inbound messages that have, had or wait for a turn, newest first.
	Turns(ctx context.Context, f TurnFilter) ([]Inbound, error)
	// Deliveries returns the deliveries of a turn, in order.
	Deliveries(ctx context.Context, inbound int64) ([]Delivery, error)
	// CountDeliveries counts the deliveries of several turns by state. Turns without deliveries are
	// omitted.
	CountDeliveries(ctx context.Context, inbounds []int64) (map[int64]map[State]int, error)
	// Trace returns the trace that was stored by Finish, or "".
	Trace(ctx context.Context, inbound int64) (string, error)
	// OldestPendingSince returns when the longest waiting inbound message was received; zero: none
	// waits.
	OldestPendingSince(ctx context.Context) (time.Time, error)
}
