// Package channels holds the contract between the gateway and the chat networks, the messages that
// cross it, and what channels share: the splitter, the album planner and media kinds.
// It knows nothing of agents, queues or storage.
package channels

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Channel is an adapter to one chat network. The gateway calls Run once, and Plan and Send from
// many goroutines.
type Channel interface {
	// Run receives until ctx ends and reconnects by itself. It returns nil when ctx ended, and an
	// error only for what a retry cannot mend.
	Run(ctx context.Context, receive Receive) error
	// Plan renders a message and cuts it into network calls. It is pure: no network, no clock, the
	// same answer each time, so that what it returns can be stored and needs no further thought. Blank
	// text without files is nothing to send.
	Plan(m Message) ([]Outgoing, error)
	// Send makes one network call, or several where the network does not take an album as one, and
	// waits its own pacing. An error is a *SendError where the channel knows what it means. A call that ctx ended before it was made is neither Permanent nor
	// Unknown: it has not happened and will be made again.
	Send(ctx context.Context, o Outgoing) (Receipt, error)
}

// Receive takes one incoming message. When it returns nil the message is safe and may be
// acknowledged to the network; otherwise it must be offered again, under the same ID and before any later one.
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
	// Cursor, if not "", is what the channel needs to go on behind this message after a restart. It is stored in
	// the same step as the message and handed to Resume.
	Cursor string `json:"-"`
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
	// Draft is the beginning of an answer that is being written, as passing as progress. Only an Editor that is no Replacer gets it.
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
}

// Button is a choice under a message. A press comes back as an Incoming with Press set to Data. A channel without buttons
// leaves them out: the text says what to type instead.
type Button struct {
	Label string `json:"label"`
	Data  string `json:"data"` // at most 64 bytes, Telegram's limit
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
	// Replace, if not "", is the id of a message that was sent before and whose place this one takes. The gateway sees to it:
	// Send need not look at it.
	Replace string `json:"replace,omitempty"`
	// Key is set by the gateway before Send and is the same for every try of the same call, so that a network that
	// takes a nonce carries it out once.
	Key string `json:"-"`
	// Repeat says that an earlier try may have been carried out already. The text is then led by ↻.
	Repeat bool `json:"-"`
	// Form is what only the channel that planned it understands (entities, a method name).
	Form []byte `json:"form,omitempty"`
}

// Receipt is the network's confirmation of a send.
type Receipt struct {
	ID string `json:"id"` // the network's id of what was sent
}

// Editor is a channel that can change what it has sent. The gateway edits the progress bubble of a turn in place.
type Editor interface {
	// Edit replaces the message with this id. An unchanged message is no error.
	Edit(ctx context.Context, id string, o Outgoing) error
	// Remove deletes the message with this id. A message that is gone is no error.
	Remove(ctx context.Context, chat Chat, id string) error
}

// Replacer is an Editor that can make a message of its own what another one shows while it is being written. The gateway asks for
// text only. An Editor without it is handed what is being written as a Draft, which is removed when the message was sent.
type Replacer interface {
	Editor
	// Replace makes o of the message with this id, for good. Doing it again is harmless. That the message is gone is
	// ErrGone: then o is sent.
	Replace(ctx context.Context, id string, o Outgoing) (Receipt, error)
}

// ErrGone says that there is no such message any more.
var ErrGone = errors.New("the message is gone")

// FileLimiter is a channel that takes files only up to a size. The gateway asks before it copies a file.
type FileLimiter interface {
	// FileLimit returns the largest file in bytes that a chat takes, and the same in words for people: "Telegram takes files up to 50 MB".
	FileLimit(chat Chat) (most int64, words string)
}

// Typer is a channel that can show that somebody is typing. The gateway calls it every few seconds during a turn.
type Typer interface {
	Typing(ctx context.Context, chat Chat) error
}

// Repeater is a channel on which a second Send with the same Key has no second effect.
type Repeater interface {
	Repeatable() bool
}

// Resumer is a channel with a place to go on from. Resume is called once, before Run, with the Cursor that was stored last, or "".
type Resumer interface {
	Resume(cursor string)
}

// CursorKeeper is a channel whose place moves on when nothing is received, too. KeepCursor is called once, before Run.
type CursorKeeper interface {
	KeepCursor(keep func(ctx context.Context, cursor string) error)
}

// Mounter is a channel that its network speaks to over HTTP. Mount is called once, before Run.
type Mounter interface {
	// Mount returns what the HTTP server hands to h: a pattern of http.ServeMux, or "" if the channel does without. The
	// handler is called from many goroutines, also before and after Run.
	Mount() (pattern string, h http.Handler)
}

// Healthy is a channel that can tell while it runs that its network cannot be reached.
type Healthy interface {
	// Health says why nothing can be received just now; nil when all is well.
	Health() error
}

// Command is something that can be said with a slash before it, for a channel's menu.
type Command struct{ Name, Help string }

// Menu is a channel that can show its users which commands there are. It is called before Run.
type Menu interface {
	SetMenu(commands []Command)
}

// ChatMenu is a channel that can show the users of one chat which commands the agent has there, beside those of SetMenu.
type ChatMenu interface {
	// SetChatMenu replaces them. What the network does not take as a command is left out.
	SetChatMenu(ctx context.Context, chat Chat, commands []Command) error
}

// SendError says what a failed send means for the gateway. With neither flag the call may be repeated,
// not before After has passed.
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
