package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Version is the protocol version that envelopes carry.
const Version = 1

// Envelope is the one line of JSON that an agent reads on stdin. The first nine fields are Terminal
// Protocol v1's; those after them are additions that an agent may ignore.
type Envelope struct {
	Version     int                 `json:"version"`
	Text        string              `json:"text"`
	Media       []string            `json:"media,omitempty"`
	Channel     string              `json:"channel"`
	ChatID      string              `json:"chat_id"`
	SessionKey  string              `json:"session_key"`
	Workspace   string              `json:"workspace"`
	UserDataDir string              `json:"user_data_dir"`
	Providers   map[string]Provider `json:"providers,omitempty"`

	// Account is the name of one of several accounts of the network; "": it has no name.
	Account   string `json:"account,omitempty"`
	MessageID string `json:"message_id,omitempty"`
	User      *User  `json:"user,omitempty"`
	// Origin says who began the message: person, ask, agent, hook:NAME or schedule:NAME.
	Origin     string     `json:"origin,omitempty"`
	ThreadID   string     `json:"thread_id,omitempty"`
	Group      bool       `json:"group,omitempty"` // several people can write in the chat
	ReplyTo    *Quote     `json:"reply_to,omitempty"`
	Forwarded  *Forwarded `json:"forwarded,omitempty"` // nil: the user's own words
	MediaNames []string   `json:"media_names,omitempty"`
	RunID      string     `json:"run_id,omitempty"`
	Attempt    int        `json:"attempt,omitempty"`
	// Heard has the texts of files in Media, which Text ends with.
	Heard []Heard `json:"heard,omitempty"`
	// ConversationID changes with each /new; "": there was none.
	ConversationID string `json:"conversation_id,omitempty"`

	History []HistoryEntry `json:"history,omitempty"`
}

// Person is the Origin of a message that a person has sent.
const Person = "person"

// PersonID returns the ID of the person who has sent the message; "": unknown, or nobody has.
func (e Envelope) PersonID() string {
	if e.User == nil || e.Origin != "" && e.Origin != Person {
		return ""
	}
	return e.User.ID
}

// Provider is an API provider in the envelope, with its keys in clear text.
type Provider struct {
	APIKeys []string `json:"api_keys"`
	Models  []string `json:"models,omitempty"`
	BaseURL string   `json:"base_url,omitempty"`
}

// User is the sender of the message.
type User struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Username string `json:"username,omitempty"`
	Language string `json:"language,omitempty"` // a BCP 47 tag; "": unknown
}

// Quote is the message to which the user replied, or the passage of it that the user quoted.
type Quote struct {
	ID    string      `json:"id"`
	Text  string      `json:"text,omitempty"`
	Media []string    `json:"media,omitempty"`
	User  *User       `json:"user,omitempty"`
	Chat  *SourceChat `json:"chat,omitempty"` // if it was in another chat
}

// Forwarded says where a forwarded message comes from.
type Forwarded struct {
	From *User       `json:"from,omitempty"`
	Chat *SourceChat `json:"chat,omitempty"`
	Date string      `json:"date,omitempty"` // RFC 3339
	// Comment is the user's own words before the forwarded text. The text begins with them.
	Comment string `json:"comment,omitempty"`
}

// SourceChat is a chat that a forwarded or quoted message comes from.
type SourceChat struct {
	ID    string `json:"id,omitempty"`
	Title string `json:"title,omitempty"`
}

// HistoryEntry is one message of the chat's past, oldest first.
type HistoryEntry struct {
	Role  string    `json:"role"` // user or agent
	Text  string    `json:"text"`
	Media []string  `json:"media,omitempty"`
	Time  time.Time `json:"time,omitzero"`
}

// Line returns the envelope as one line of JSON with its newline.
func (e Envelope) Line() ([]byte, error) {
	line, err := EncodeLine(e)
	if err != nil {
		return nil, fmt.Errorf("encode envelope: %w", err)
	}
	return line, nil
}

// Task returns the text with the paths of the files that came with it, below a note about them.
func (e Envelope) Task(note string) string {
	if len(e.Media) == 0 {
		return e.Text
	}
	return strings.TrimLeft(e.Text+"\n\n"+note+"\n"+strings.Join(e.Media, "\n"), "\n")
}

// EncodeLine returns a value as one line of JSON with its newline.
func EncodeLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
