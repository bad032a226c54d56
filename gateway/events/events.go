// Package events describes what happens in a gateway to its observers, such as the console and the
// metrics. It knows none of the stages that report events, nor any observer.
package events

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
	Failed   What = "failed"   // a send failed and will not be tried again
	Unknown  What = "unknown"  // nobody knows whether a send has happened
	Dropped  What = "dropped"  // a message gets no turn, for the Reason given
)

// The reasons for which a message is dropped.
const (
	QueueFull   = "queue_full"   // as many messages of its chat wait as are kept
	RateLimited = "rate_limited" // its sender has sent too many within a minute
	Busy        = "busy"         // a turn of its chat runs, and messages are not queued
	NotAdmitted = "not_admitted" // its sender has no access
	Cancelled   = "cancelled"    // a person took it back before its turn began
	Read        = "read"         // it was queued, and the turn before it has read it
)

// Event is something that happened. It is only a hint: the facts are in the store, or will be in a
// moment.
type Event struct {
	What    What
	Chat    channels.Chat
	Inbound int64 // 0 for something that is sent and belongs to no turn
	// Agent, Status and Took are those of a turn that has ended.
	Agent  string
	Status string
	Took   time.Duration
	Reason string // why a message was dropped
}

// Func observes events, from many goroutines. It must not block. A nil Func observes nothing.
type Func func(Event)

// Tell reports an event, if anybody observes.
func (f Func) Tell(e Event) {
	if f != nil {
		f(e)
	}
}
