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
	Kind    string            `json:"kind"`
	HTML    string            `json:"html,omitempty"` // messages of the bot only
	Text    string            `json:"text"`
	Details string            `json:"details,omitempty"`
	Media   []media           `json:"media"`
	Buttons []channels.Button `json:"buttons"`
	// Pressed is the data of the pressed button, or "".
	Pressed  string    `json:"pressed,omitempty"`
	Time     time.Time `json:"time"`
	ClientID string    `json:"client_id,omitempty"`
	ReplyTo  string    `json:"reply_to,omitempty"` // ID of the message that this one answers
}

// media is a file of a message. It is served at /api/media/ID.
type media struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
}

// pressEvent says that a button was pressed.
type pressEvent struct {
	Seq  int64  `json:"seq"`
	Chat string `json:"chat"`
	ID   string `json:"id"`
	Data string `json:"data"`
}

// toStreamEvent returns the stream event of a stored event.
func (c *Channel) toStreamEvent(e history.Event) *streamEvent {
	f := &streamEvent{name: e.Type, seq: e.Seq, owner: e.Owner, data: func() any { return c.toMessage(e) }}
	if e.Type == history.Pressed {
		f.data = func() any { return pressEvent{e.Seq, e.Chat, e.ID, e.Data} }
	}
	return f
}

func (c *Channel) toMessage(e history.Event) message {
	m := message{
		Seq: e.Seq, Chat: e.Chat, ID: e.ID, From: e.From, Kind: e.Kind, Text: e.Text, Details: e.Details, Media: []media{}, Buttons: nonNil(e.Buttons),
		Pressed: e.Pressed, Time: e.Time.UTC(), ClientID: e.ClientID, ReplyTo: e.ReplyTo,
	}
	if e.From == fromBot {
		m.HTML = c.rendered.html(e.Seq, e.Body)
	}
	for _, f := range e.Media {
		m.Media = append(m.Media, media{f.ID, f.Name, f.Type, f.Size, f.Width, f.Height})
	}
	return m
}
