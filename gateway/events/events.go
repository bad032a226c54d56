// Package events defines the events that a gateway reports to its observers, such as the console
// and the metrics. It knows neither the packages that report events nor the observers.
package events

import (
	"time"

	"nanobot/channels"
)

// Type is the type of an event.
type Type string

// The events of turns and deliveries.
const (
	Queued   Type = "queued"
	Started  Type = "started"
	Output   Type = "said" // the agent has printed a frame or a log line
	Ended    Type = "ended"
	Sent     Type = "sent"
	Retrying Type = "retrying" // a send failed and will be retried
	Failed   Type = "failed"   // a send failed permanently
	Unknown  Type = "unknown"  // the outcome of a send is unknown
	Dropped  Type = "dropped"  // a message gets no turn; Reason says why
	Occurred Type = "occurred" // an occurrence of a schedule was stored; Status is its outcome
)

// The reasons for which a message is dropped.
const (
	QueueFull   = "queue_full"   // the queue of its chat has reached its limit
	RateLimited = "rate_limited" // its sender has sent too many messages within a minute
	Busy        = "busy"         // its chat has a running turn, and the settings do not queue messages
	NotAdmitted = "not_admitted" // its sender has no access
	Cancelled   = "cancelled"    // a person cancelled it before its turn started
	OverQuota   = "quota"        // a quota of the day is used up
	Read        = "read"         // a turn of an earlier message has read it from the queue
)

// Event is a hint that something has happened. The facts are in the store, or will be in a moment.
type Event struct {
	Type    Type
	Chat    channels.Chat
	Inbound int64 // 0: a delivery that belongs to no turn
	// Origin, Agent, Status, Took and Used are set when a turn has ended.
	Origin channels.Origin
	Agent  string
	Status string
	Took   time.Duration
	Used   Used
	Reason string // why a message was dropped
	// Schedule is the schedule of an occurrence, or "chat" for one that was made in a chat.
	Schedule string
}

// Used is what a turn has used, or several together.
type Used struct {
	Turns, Seconds            float64
	InputTokens, OutputTokens float64
	Cost                      float64 // in US dollars
}

// Func observes events, from many goroutines. It must not block. A nil Func observes nothing.
type Func func(Event)

// Report passes an event to the observer, if there is one.
func (f Func) Report(e Event) {
	if f != nil {
		f(e)
	}
}
