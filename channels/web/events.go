package web

import (
	"time"

	"nanobot/channels"
	"nanobot/channels/web/history"
)

// message is a message in a response or an event stream.
type message struct {
	Seq     int64             `json:"seq"`
	Chat    string            `json:"chat"`
	ID      string            `json:"id"`
	From    string            `json:"from"`
	User    string            `json:"user,omitempty"` // who has sent a message of a person
	Kind    string            `json:"kind"`
	HTML    string            `json:"html,omitempty"` // messages of the bot only
	Text    string            `json:"text"`
	Format  channels.Format   `json:"format,omitempty"` // of the text of a bot's message
	Details string            `json:"details,omitempty"`
	Media   []media           `json:"media"`
	Buttons []channels.Button `json:"buttons"`
	// Pressed is the data of the pressed button, or "".
	Pressed string `json:"pressed,omitempty"`
	// Outcome is that of a question that was closed without a press, or "".
	Outcome  string    `json:"outcome,omitempty"`
	Time     time.Time `json:"time"`
	ClientID string    `json:"client_id,omitempty"`
	ReplyTo  string    `json:"reply_to,omitempty"` // ID of the message that this one answers
	Edited   bool      `json:"edited,omitempty"`
	Removed  bool      `json:"removed,omitempty"` // it was a secret, or a screen that a newer message shows
	Silent   bool      `json:"silent,omitempty"`  // it notifies nobody
	Owner    string    `json:"owner"`             // of the chat
}

// media is a file of a message. It is served at /api/media/ID.
type media struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	State  string `json:"state,omitempty"` // gone or changed, if it is not served any more
}

// changeEvent says that a message has changed: its question was closed, its text was removed, or
// one of its buttons was pressed.
type changeEvent struct {
	Seq     int64   `json:"seq"`
	Chat    string  `json:"chat"`
	ID      string  `json:"id"`
	Outcome *string `json:"outcome,omitempty"` // of a question that was closed
	Data    *string `json:"data,omitempty"`    // of a pressed button
}

// chatChange says that a chat was renamed or pinned.
type chatChange struct {
	Seq    int64  `json:"seq"`
	Chat   string `json:"chat"`
	Title  string `json:"title"`
	Pinned bool   `json:"pinned"`
}

// chatDeletion says that a chat was deleted.
type chatDeletion struct {
	Seq  int64  `json:"seq"`
	Chat string `json:"chat"`
}

// toStreamEvent returns the stream event of a stored event; nil: there is none. An inserted message
// is streamed when it is inserted, with its earlier number.
func (c *Channel) toStreamEvent(e history.Event) *streamEvent {
	f := &streamEvent{name: e.Type, seq: e.Seq, owner: e.Owner}
	switch m := e.Message; {
	case e.Type == history.Pressed:
		f.data = func() any { return changeEvent{Seq: e.Seq, Chat: e.Chat, ID: e.ID, Data: &e.Data} }
	case e.Type == history.Closed:
		f.data = func() any { return changeEvent{Seq: e.Seq, Chat: e.Chat, ID: e.ID, Outcome: &e.Outcome} }
	case e.Type == history.Removed:
		f.data = func() any { return changeEvent{Seq: e.Seq, Chat: e.Chat, ID: e.ID} }
	case e.Type == history.Changed:
		f.name, f.data = "chat", func() any { return chatChange{e.Seq, e.Chat, e.ChatTitle, e.Pinned} }
	case e.Type == history.Deleted:
		f.data = func() any { return chatDeletion{e.Seq, e.Chat} }
	case e.Type == history.Inserted && m != nil:
		f.name, f.data = history.Message, func() any { return c.toMessage(*m) }
	case e.Type == history.Edited && m != nil:
		f.data = func() any { return c.toMessage(*m) }
	case e.Type == history.Message && !e.Inserted:
		f.data = func() any { return c.toMessage(e) }
	default:
		return nil
	}
	return f
}

func (c *Channel) toMessage(e history.Event) message {
	m := message{
		Seq: e.Seq, Chat: e.Chat, ID: e.ID, From: e.From, User: e.User, Kind: e.Kind, Text: e.Text, Format: e.Format,
		Details: e.Details,
		Media:   []media{}, Buttons: nonNil(e.Buttons),
		Pressed: e.Pressed, Outcome: e.Outcome, Time: e.Time.UTC(), ClientID: e.ClientID, ReplyTo: e.ReplyTo,
		Edited: e.Edited, Removed: e.Removed, Silent: e.Silent, Owner: e.Owner,
	}
	if e.From == fromBot && !e.Removed {
		m.HTML = c.rendered.html(e.Seq, e.Body)
	}
	for _, f := range e.Media {
		m.Media = append(m.Media, media{f.ID, f.Name, f.Type, f.Size, f.Width, f.Height, c.mediaState(e.Chat, f)})
	}
	return m
}
