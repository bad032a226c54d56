// Package channels holds the contract between the gateway and the chat networks, the messages that
// cross it, and what channels share: the splitter, the album planner and media kinds.
// It knows nothing of agents, queues or storage.
package channels

import (
	"context"
	"fmt"
	"time"
)

// Channel is an adapter to one chat network. The gateway calls Run once, and Plan and Send from
// many goroutines. What a channel may offer in addition is in optional.go.
type Channel interface {
	// Run receives until ctx ends and reconnects by itself. It returns nil when ctx ended, and an
	// error only for what a retry cannot mend.
	Run(ctx context.Context, receive Receive) error
	// Plan renders a message and cuts it into network calls. It is pure: no network, no clock, the
	// same answer each time, so that what it returns can be stored and needs no further thought.
	// Blank text without files and without a screen is nothing to send.
	Plan(m Message) ([]Outgoing, error)
	// Send makes one network call, or several where the network does not take an album as one, and
	// waits its own pacing. An error is a *SendError where the channel knows what it means. A call
	// that ctx ended before it was made is neither Permanent nor Unknown: it has not happened and
	// will be made again.
	Send(ctx context.Context, o Outgoing) (Receipt, error)
}

// Receive takes one incoming message. When it returns nil the message is safe and may be
// acknowledged to the network; otherwise it must be offered again, under the same ID and before any
// later one.
type Receive func(context.Context, Incoming) error

// Chat names one conversation on a channel.
type Chat struct {
	Channel string `json:"channel"`
	ID      string `json:"id"`
}

// String returns the chat's key, channel:id.
func (c Chat) String() string { return c.Channel + ":" + c.ID }

// User is who sent a message. ID is the identity; the names are only shown.
type User struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Username string `json:"username,omitempty"`
}

// Incoming is one message from a user.
type Incoming struct {
	Chat     Chat     `json:"chat"`
	ID       string   `json:"id"` // the network's message id, unique within the chat
	User     User     `json:"user"`
	Text     string   `json:"text"`
	Media    []string `json:"media,omitempty"` // absolute paths, already on disk
	ThreadID string   `json:"thread_id,omitempty"`
	ReplyTo  *Quote   `json:"reply_to,omitempty"`
	// Press is the data of the button that was pressed, when this is no text but a press.
	Press string `json:"press,omitempty"`
	// Cursor, if not "", is what the channel needs to go on behind this message after a restart. It
	// is stored in the same step as the message and handed to Resume.
	Cursor string `json:"-"`
	// Part, if not nil, says that the network delivers the message in parts, such as an album.
	Part *Part `json:"part,omitempty"`
	// Raw is for a part only: what the channel needs to complete the message after a restart, in a
	// form of its own. It is stored with the part and comes back from Memory.Parts.
	Raw []byte `json:"raw,omitempty"`
}

// Part says which message a part belongs to. A channel hands on each part as it comes, which makes
// it safe, and then the whole message with Last set, under the ID of its first part. In the step
// that stores the whole message, its parts are forgotten; their IDs stay known, so that a part that
// the network delivers again is a duplicate.
type Part struct {
	Group string `json:"group"` // names the message within its chat
	Last  bool   `json:"last,omitempty"`
}

// Quote is the message that an incoming one replies to.
type Quote struct {
	ID    string   `json:"id"`
	Text  string   `json:"text,omitempty"`
	Media []string `json:"media,omitempty"`
}

// Kind says what a message is to the person who reads it.
type Kind string

// The kinds of message.
const (
	Progress Kind = "progress" // a passing word that the turn is at work
	Answer   Kind = "message"
	Failure  Kind = "error"
	// Draft is the beginning of an answer that is being written, as passing as progress. Only an
	// Editor that is no Replacer gets it.
	Draft Kind = "draft"
)

// Message is what the gateway has to say to a chat, before it is cut to the network's measure.
type Message struct {
	Chat    Chat
	Kind    Kind
	Text    string // Markdown
	Code    string // the agent's error code, for machines
	Media   []File
	ReplyTo string // id of the message this answers, or ""
	Buttons []Button
	// Screen is shown below the text; nil: there is none. It goes into one call, together with the
	// text, cropped where it must be.
	Screen *Screen
}

// Button is a choice under a message. A press comes back as an Incoming with Press set to Data. A
// channel without buttons leaves them out: the text says what to type instead.
type Button struct {
	Label string `json:"label"`
	Data  string `json:"data"` // at most 64 bytes, Telegram's limit; one less where Stays is set
	// Stays says that the button can be pressed again and again: a press removes no buttons.
	Stays bool `json:"stays,omitempty"`
}

// Outgoing is one network call's worth of message. It is stored as JSON.
type Outgoing struct {
	Chat    Chat     `json:"chat"`
	Kind    Kind     `json:"kind"`
	Text    string   `json:"text,omitempty"`
	Code    string   `json:"code,omitempty"`
	Media   []File   `json:"media,omitempty"`
	ReplyTo string   `json:"reply_to,omitempty"`
	Buttons []Button `json:"buttons,omitempty"`
	// Replace, if not "", is the id of a message that was sent before and whose place this one
	// takes. The gateway sees to it: Send need not look at it.
	Replace string `json:"replace,omitempty"`
	// Key is set by the gateway before Send and is the same for every try of the same call, so that
	// a network that takes a nonce carries it out once.
	Key string `json:"-"`
	// Repeat says that an earlier try may have been carried out already. ↻ then precedes the text.
	Repeat bool `json:"-"`
	// Form is what only the channel that planned it understands (entities, a method name).
	Form []byte `json:"form,omitempty"`
}

// Receipt is the network's confirmation of a send.
type Receipt struct {
	ID string `json:"id"` // the network's id of what was sent
}

// SendError says what a failed send means for the gateway. With neither flag the call may be
// repeated, not before After has passed.
type SendError struct {
	Err       error
	Permanent bool          // repeating cannot help
	Unknown   bool          // the network may have carried it out
	After     time.Duration // how long the network asks us to wait
}

func (e *SendError) Error() string {
	switch {
	case e.Permanent:
		return fmt.Sprintf("refused for good: %v", e.Err)
	case e.Unknown:
		return fmt.Sprintf("outcome unknown: %v", e.Err)
	case e.After > 0:
		return fmt.Sprintf("try again in %s: %v", e.After, e.Err)
	}
	return e.Err.Error()
}

func (e *SendError) Unwrap() error { return e.Err }
