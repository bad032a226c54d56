// Package channels defines the contract between the gateway and the chat networks, the messages
// that pass between them, and the code that channels share: media kinds, checks of
// links and of text direction. It knows nothing of agents, queues or storage.
package channels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Channel is an adapter to one chat network. The gateway calls Run once, and Plan and Send from
// many goroutines. The optional interfaces of a channel are in optional.go.
type Channel interface {
	// Run receives messages until ctx ends and reconnects by itself. It returns nil when ctx has
	// ended, and an error only if a retry cannot help.
	Run(ctx context.Context, receive Receive) error
	// Plan renders a message and cuts it into network calls. It is pure: it uses no network and no
	// clock, and returns the same calls each time, so that they can be stored. A message with blank
	// text, no files and no screen has no calls.
	Plan(m Message) ([]Outgoing, error)
	// Send makes one network call, or several if the network does not accept an album as one. It
	// waits as long as the network's rate limits demand. An error whose meaning the channel knows
	// is a *SendError. If ctx ended before the call was made, the error is neither Permanent nor
	// Unknown, and the gateway calls Send again.
	Send(ctx context.Context, o Outgoing) (Receipt, error)
}

// Receive stores one incoming message. When it returns nil the message is durable and may be
// acknowledged to the network. After an error the channel must offer the message again, under the
// same ID and before any later one. ErrKnown about a part is no such error: the part needs nothing
// more.
type Receive func(context.Context, Incoming) error

// ErrKnown says that a part was received, refused or dropped before; see Memory.Known.
var ErrKnown = errors.New("it was received before")

// Chat names one conversation on a channel. The channel of an account with a name is network.NAME.
type Chat struct {
	Channel string `json:"channel"`
	ID      string `json:"id"`
}

// String returns the chat's key, channel:ID.
func (c Chat) String() string { return c.Channel + ":" + c.ID }

// ParseChat parses a chat's key. It reports false if a part is missing.
func ParseChat(key string) (Chat, bool) {
	channel, id, _ := strings.Cut(key, ":")
	return Chat{channel, id}, channel != "" && id != ""
}

// User is the sender of a message. Only ID identifies the user; the names are for display.
type User struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Username string `json:"username,omitempty"`
	// Language is the BCP 47 tag of the language that the network reports for the user; "":
	// unknown.
	Language string `json:"language,omitempty"`
}

// Origin says who began a message: a person, an operator's command (ask), a process of an agent, a
// hook or a schedule. The zero value is Person.
type Origin string

// The origins without a name.
const (
	Person      Origin = ""
	ByAsk       Origin = "ask"
	ByAgent     Origin = "agent"
	personValue        = "person"
)

// ByHook is the origin of a hook's messages.
func ByHook(name string) Origin { return Origin("hook:" + name) }

// BySchedule is the origin of a schedule's messages.
func BySchedule(name string) Origin { return Origin("schedule:" + name) }

// String returns the origin as it is stored and shown.
func (o Origin) String() string { return cmp.Or(string(o), personValue) }

// User returns the user of messages that nobody has typed.
func (o Origin) User() User { return User{ID: o.String(), Name: o.String()} }

// Kind returns the origin without the name of a hook or schedule.
func (o Origin) Kind() string {
	kind, _, _ := strings.Cut(o.String(), ":")
	return kind
}

// Incoming is one message from a user, or one that nobody has typed.
type Incoming struct {
	Chat Chat   `json:"chat"`
	ID   string `json:"id"` // the network's message ID, unique within the chat; "": it is not on the network
	// User is the sender. The user of a message that nobody has typed is its origin.
	User   User   `json:"user"`
	Origin Origin `json:"origin,omitempty"`
	// Maker is the ID of the person who has caused a message that nobody has typed, such as the
	// maker of a reminder; "": the operator.
	Maker string `json:"maker,omitempty"`
	// Quiet says that the turn of the message shows only what the agent sends: no board, no
	// reaction, no notice about its end.
	Quiet    bool     `json:"quiet,omitempty"`
	Text     string   `json:"text"`
	Media    []string `json:"media,omitempty"` // absolute paths, already on disk
	ThreadID string   `json:"thread_id,omitempty"`
	// Parent is the ID of the chat that this one is a thread of; "": none, or the chat's ID says
	// it, see ChatLocator.
	Parent string `json:"parent,omitempty"`
	// Workspace is the folder below the workspace in which the agent works on the message, and
	// Worktree the repository below the workspace of which it gets a worktree. The gateway sets
	// them when it chooses the agent; "": none.
	Workspace string `json:"workspace,omitempty"`
	Worktree  string `json:"worktree,omitempty"`
	// Command is the word of the command of the rule that has chosen the agent, which was taken off
	// the text; "": none.
	Command string `json:"command,omitempty"`
	// Answerer is the agent that answers the message. The gateway sets it when it receives the
	// message. It is stored beside the message, which keeps it when the settings change.
	Answerer Answerer `json:"-"`
	Group    bool     `json:"group,omitempty"` // several people can write in the chat
	Title    string   `json:"title,omitempty"` // of the chat, for display; "": unknown, or the user's own
	ReplyTo  *Quote   `json:"reply_to,omitempty"`
	// MediaNames are the names that people gave the files in Media, in the same order; "" where
	// there is none. It is nil if no file has a name.
	MediaNames []string   `json:"media_names,omitempty"`
	Forwarded  *Forwarded `json:"forwarded,omitempty"` // nil: the sender's own words
	// Press is the data of the pressed button; "" means that this is a text.
	Press string `json:"press,omitempty"`
	// Respond shows a short text to the person who has pressed the button, and to nobody else. It
	// does not wait, and does nothing if the press can no longer be answered. nil: the channel
	// cannot do that.
	Respond func(text string) `json:"-"`
	// FittingSize is the size of a terminal that fits the person's screen, such as 80x24; "":
	// unknown.
	FittingSize string `json:"room,omitempty"`
	// Replaces is the ID of an earlier message of the same person that this one replaces: that is
	// withdrawn if it waits, and its turn is ended if it runs. "": none.
	Replaces string `json:"replaces,omitempty"`
	// Pressed says that Text is the text of a button that the person pressed.
	Pressed bool `json:"pressed,omitempty"`
	// Change says that this is no new message: the one with this ID was edited, and Text and Media
	// are its new content, or it was deleted, or the chat was. "" means a new message. Media is nil
	// if the files stay. A change that is older than one before has no effect; the zero ChangedAt
	// is never older.
	Change    Change    `json:"change,omitempty"`
	ChangedAt time.Time `json:"changed_at,omitzero"`
	// Pieces are set if this message was made of several messages of the network.
	Pieces []Piece `json:"pieces,omitempty"`
	// Follows says that the message belongs to the text that its sender wrote just before, if there
	// is one, such as a forwarded message to its comment. Waited is how long the channel has waited
	// for further parts of the message since it arrived.
	Follows bool          `json:"-"`
	Waited  time.Duration `json:"-"`
	// Stored says that the message comes from the store: another member has received it, or it is
	// from before its sender's admission. The gateway sets it.
	Stored bool `json:"-"`
	// Cursor, if not "", is the position in the network's stream after this message. The gateway
	// stores it in the same transaction as the message and passes it to Resume after a restart.
	Cursor string `json:"-"`
	// Part is set if the network delivers the message in parts, such as an album.
	Part *Part `json:"part,omitempty"`
	// Raw is set for a part only. It has the channel's own data for completing the message after a
	// restart, is stored with the part, and is returned by Memory.Parts.
	Raw []byte `json:"raw,omitempty"`
}

// Responsible returns the ID of the person who has sent the message, or caused one that nobody has
// typed. It reports false if that was the operator.
func (in Incoming) Responsible() (user string, ok bool) {
	if in.Origin == Person {
		return in.User.ID, true
	}
	return in.Maker, in.Maker != ""
}

// SamePlace reports whether the agent works on two messages in the same place.
func (in Incoming) SamePlace(other Incoming) bool {
	return in.Workspace == other.Workspace && in.Worktree == other.Worktree
}

// Answerer is the agent that answers a message.
type Answerer struct {
	Agent string
	// Choices are the agents that people can choose for messages like this one.
	Choices []string
	// Gone is the agent that the chat has chosen and that is no longer configured; "": none.
	Gone string
	// Command says that the text began with the command of a rule, which was taken off, and Media
	// that a rule about files has decided.
	Command, Media bool
}

// Part says which message a part belongs to. A channel passes on each part when it arrives, which
// makes it durable, and later the complete message with Last set, under the ID of its first part.
// The transaction that stores the complete message deletes the parts. Their IDs stay known, so a
// part that the network delivers again is a duplicate.
type Part struct {
	Group string `json:"group"` // names the message within its chat
	Last  bool   `json:"last,omitempty"`
}

// Change is what happened to an earlier message.
type Change string

// The changes of a message.
const (
	Edited  Change = "edited"
	Deleted Change = "deleted"
	// ChatDeleted says that a person has deleted the whole chat, which accepts nothing more. The ID
	// is that of the deletion.
	ChatDeleted Change = "chat-deleted"
)

// Quote is the message that an incoming one replies to. Text is the quoted passage, if the person
// chose one.
type Quote struct {
	ID    string      `json:"id"`
	Text  string      `json:"text,omitempty"`
	Media []string    `json:"media,omitempty"`
	User  *User       `json:"user,omitempty"` // who wrote it; nil: unknown
	Chat  *SourceChat `json:"chat,omitempty"` // where, if it was in another chat
}

// Forwarded says where a forwarded message comes from. Unknown fields are zero.
type Forwarded struct {
	From *User       `json:"from,omitempty"`
	Chat *SourceChat `json:"chat,omitempty"`
	Date string      `json:"date,omitempty"` // RFC 3339
}

// SourceChat is a chat that a forwarded or quoted message comes from.
type SourceChat struct {
	ID    string `json:"id,omitempty"`
	Title string `json:"title,omitempty"`
}

// Kind is the purpose of a message.
type Kind string

// The kinds of message.
const (
	Progress Kind = "progress" // shows that a turn is running; transient
	Answer   Kind = "message"
	Failure  Kind = "error"
	// Draft is the beginning of an answer that is still being written; transient. Only a Drafter,
	// and an Editor that is not a Replacer, get drafts.
	Draft Kind = "draft"
)

// Format is what the text of a message is written in. The zero value is Markdown.
type Format string

// The formats of a text.
const (
	Markdown Format = ""
	Literal  Format = "text" // every character is shown as it is
	Code     Format = "code" // the same, in one monospaced block with its columns
)

// Message is a message from the gateway to a chat, before it is rendered and cut into calls.
type Message struct {
	Chat    Chat
	Kind    Kind
	Text    string
	Format  Format // of Text
	Code    string // the agent's error code, for machines
	Media   []File
	ReplyTo string // ID of the message that this one answers, or ""
	// Quote is the beginning of that message, if the person must see which one it is; "": it need
	// not be seen. Where the network can show it by a reply, the channel replies; elsewhere it
	// calls ShowQuote.
	Quote   string
	Buttons []Button
	// GroupDocuments says that documents are sent in albums, too, where the network has albums.
	GroupDocuments bool
	// Screen is shown below the text; nil means none. It goes into the same call as the text, and
	// is cropped if it does not fit.
	Screen *Screen
	// Live says that Screen is the live screen of the chat; see Outgoing.
	Live bool
	// Details is Markdown that is shown folded below the text; "" means none. It goes into the same
	// call and is shortened if it does not fit. A channel that cannot fold text shows a button
	// instead, with DetailsPress as its data.
	Details, DetailsPress string
	// Language is the BCP 47 tag of the language in which the channel adds its own words; "":
	// unknown.
	Language string
	Notification
}

// ShowQuote puts the quote above the text.
func (m *Message) ShowQuote() {
	if m.Quote != "" {
		m.Text, m.Quote = "> "+EscapeMarkdown(m.Quote)+"\n\n"+m.Text, ""
	}
}

// Notification says whom a message notifies. Zero means that the network's own rules decide.
type Notification struct {
	// Silent means nobody. A channel whose network has no silent messages ignores it.
	Silent bool `json:"silent,omitempty"`
	// Mention means also the author of the message that ReplyTo names, who may have left the chat
	// meanwhile.
	Mention bool `json:"mention,omitempty"`
	// Private means that only that author sees the message, where the network can do that.
	Private bool `json:"private,omitempty"`
}

// Outgoing is one network call of a message. It is stored as JSON.
type Outgoing struct {
	Chat Chat   `json:"chat"`
	Kind Kind   `json:"kind"`
	Text string `json:"text,omitempty"`
	// Format is that of Text, for channels that render a text only when they show it.
	Format  Format   `json:"format,omitempty"`
	Code    string   `json:"code,omitempty"`
	Media   []File   `json:"media,omitempty"`
	ReplyTo string   `json:"reply_to,omitempty"`
	Buttons []Button `json:"buttons,omitempty"`
	Details string   `json:"details,omitempty"`
	Notification
	// Replace, if not "", is the ID of an earlier message that this one replaces. The gateway then
	// calls Replacer.Replace, so Send can ignore the field. Unchanged says that the earlier message
	// has the same content, so that no call is made.
	Replace   string `json:"replace,omitempty"`
	Unchanged bool   `json:"unchanged,omitempty"`
	// Live says that the message is the live screen of its chat, which there is one of: the gateway
	// replaces the last one by it, or removes the last one. Without buttons it is the last.
	Live bool `json:"live,omitempty"`
	// GivesWay says that answers are sent first: if the network's rate limit has no room for this
	// message and for an answer, in any chat that shares the limit, Send returns a *SendError with
	// After and ErrBusy at once. Transient messages give way to it in turn. Newer messages of its
	// chat overtake it, unless it is InOrder.
	GivesWay bool `json:"gives_way,omitempty"`
	// InOrder says that a message that gives way keeps its place in its chat, where its content
	// belongs.
	InOrder bool `json:"in_order,omitempty"`
	// Key is an idempotency key. The gateway sets it before Send; it is the same for every attempt
	// of the same call.
	Key string `json:"-"`
	// Repeat says that an earlier attempt may have succeeded. Send then begins the text with ↻.
	// The gateway never sets it for a channel that is Repeatable.
	Repeat bool `json:"-"`
	// Transient says that the message shows the state of a running turn. It gives way to answers:
	// if the network's rate limit has no room for it and for an answer, Send and Edit return a
	// *SendError with After at once, and the gateway renders it again later.
	Transient bool `json:"-"`
	// Last says that no edit of a Transient message follows.
	Last bool `json:"-"`
	// Urgent says that a message does not give way: a person waits for it, or for one behind it.
	Urgent bool `json:"-"`
	// Language is that of the message.
	Language string `json:"language,omitempty"`
	// Form is private data of the channel that planned the call, such as entities or a method name.
	Form []byte `json:"form,omitempty"`
}

// Receipt is the network's confirmation of a send.
type Receipt struct {
	ID string `json:"id"` // the network's ID of the sent message
}

// SendError says what a failed send means for the gateway. With neither flag set, the call may be
// repeated once After has passed.
type SendError struct {
	Err       error
	Permanent bool          // a repetition cannot succeed
	Unknown   bool          // the network may have carried out the call
	After     time.Duration // the delay that the network asks for
	// Partial says that a part of the message was sent. A repetition of the call by the same
	// process sends only the rest; after a restart it would send everything again.
	Partial bool
	// Closed says that the chat, or the whole chat of a ChatLocator's topic, accepts nothing: its
	// person has blocked the bot, for example.
	Closed bool
}

func (e *SendError) Error() string {
	switch {
	case e.Permanent:
		return fmt.Sprintf("permanently refused: %v", e.Err)
	case e.Unknown:
		return fmt.Sprintf("outcome unknown: %v", e.Err)
	case e.After > 0:
		return fmt.Sprintf("try again in %s: %v", e.After, e.Err)
	}
	return e.Err.Error()
}

func (e *SendError) Unwrap() error { return e.Err }
