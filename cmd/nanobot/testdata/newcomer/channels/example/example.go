// Package example is a channel to a server that sends and takes one JSON object a line over TCP. It
// shows all that a channel must have. A test adds it to a copy of the program.
package example

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/config"
)

// Name is the channel's name in the configuration, envelopes and chat keys.
const Name = "example"

// Settings is the section channels.example.
type Settings struct {
	Enabled   bool          `json:"enabled" jsonschema_description:"Run this channel."`
	Token     config.Secret `json:"token" jsonschema_description:"What the bot signs in with; also file:/path, env:NAME or cred:NAME."`
	AllowFrom []string      `json:"allowFrom" jsonschema_description:"User ids that may talk to the bot, such as @ann:example.org; * means everybody."`
	Server    string        `json:"server" jsonschema_description:"Host and port of the server."`
	MaxText   int           `json:"maxText" jsonschema:"minimum=10,maximum=10000" jsonschema_description:"The most characters of one message."`
}

// Describe describes the channel.
func Describe() channels.Description {
	return channels.Description{
		Channel: config.Channel{
			Name: Name, Description: "The example bot.",
			New: func() config.ChannelSettings { return &Settings{AllowFrom: []string{}, MaxText: 1000} },
		},
		Token: "an example bot",
		Open: func(o channels.OpenOptions) (channels.Channel, error) {
			s := o.Settings.(*Settings)
			token, err := s.Token.Reveal()
			if err != nil {
				return nil, fmt.Errorf("token: %w", err)
			}
			return &Channel{settings: *s, token: token}, nil
		},
	}
}

// On reports whether the channel is to run.
func (s *Settings) On() bool { return s.Enabled }

// Allowed returns who may talk to the bot.
func (s *Settings) Allowed() []string { return s.AllowFrom }

var userID = regexp.MustCompile(`^@[a-z0-9._=-]+:[a-z0-9.-]+$`)

// CheckUserID accepts a name and a server.
func (*Settings) CheckUserID(id string) error {
	if !userID.MatchString(id) {
		return errors.New("a user's id is a name and a server, such as @ann:example.org")
	}
	return nil
}

// UserIDExample is a name and a server.
func (*Settings) UserIDExample() string { return "@ann:example.org" }

// Check finds what is missing or has the wrong form.
func (s *Settings) Check(at config.Scope) []config.Problem {
	all := channels.CheckToken(at, s.Enabled, s.Token)
	if _, _, err := net.SplitHostPort(s.Server); err != nil && s.Enabled {
		all = append(all, config.Problem{Path: []string{"server"}, Cause: []string{"enabled"}, Text: "must be a host and a port"})
	}
	for i, id := range s.AllowFrom {
		if err := s.CheckUserID(id); err != nil && id != "*" {
			all = append(all, config.Problem{Path: []string{"allowFrom", strconv.Itoa(i)}, Text: `must be a user ID such as "@ann:example.org", or "*"`})
		}
	}
	return all
}

// Warnings is about an open access list.
func (s *Settings) Warnings(at config.Scope) []string {
	if !s.Enabled {
		return nil
	}
	return channels.WarnAccess(at, s.AllowFrom)
}

// line is what the server and the bot say to each other.
type line struct {
	Token string `json:"token,omitempty"` // first of all, from the bot
	ID    string `json:"id,omitempty"`
	Chat  string `json:"chat,omitempty"`
	User  string `json:"user,omitempty"`
	Text  string `json:"text,omitempty"`
	Ack   string `json:"ack,omitempty"` // the ID of a message that the bot has stored
}

// Channel is a connection to the server.
type Channel struct {
	settings Settings
	token    string

	mu   sync.Mutex
	conn net.Conn // nil: there is none
}

var (
	_ channels.Channel  = (*Channel)(nil)
	_ channels.Examiner = (*Channel)(nil)
)

// pause is the time between two connections.
const pause = 100 * time.Millisecond

// Run receives until ctx ends.
func (c *Channel) Run(ctx context.Context, receive channels.Receive) error {
	for ctx.Err() == nil {
		_ = c.connect(ctx, receive) // the server offers again what was not acknowledged
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return nil
}

// connect receives until the connection ends.
func (c *Channel) connect(ctx context.Context, receive channels.Receive) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.settings.Server)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	c.use(conn)
	defer c.use(nil)
	if err := c.write(line{Token: c.token}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return err
		}
		in := channels.Incoming{Chat: channels.Chat{Channel: Name, ID: l.Chat}, ID: l.ID, User: channels.User{ID: l.User}, Text: l.Text}
		if err := receive(ctx, in); err != nil {
			return err
		}
		if err := c.write(line{Ack: l.ID}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Channel) use(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
}

// errNotConnected says that nothing was written.
var errNotConnected = errors.New("there is no connection")

func (c *Channel) write(l line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return errNotConnected
	}
	_, err = c.conn.Write(append(b, '\n'))
	return err
}

// repeatMark begins a text that may have been sent before, since the server has no idempotency
// keys.
const repeatMark = "↻ "

// Plan cuts the text, which this network shows without formatting. It leaves room for repeatMark.
// The network has no files.
func (c *Channel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	if m.Screen != nil {
		m.Text = m.Screen.Fenced(m.Text)
	}
	var all []channels.Outgoing
	most := c.settings.MaxText - utf8.RuneCountInString(repeatMark)
	for _, part := range (markdown.Layout{Format: m.Format}).Text(m.Text).Split(most, markdown.Cost{Words: channels.Runes}) {
		all = append(all, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Text: part.Text})
	}
	return all, nil
}

// Send sends one message.
func (c *Channel) Send(_ context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if o.Repeat {
		o.Text = repeatMark + o.Text
	}
	if err := c.write(line{ID: o.Key, Chat: o.Chat.ID, Text: o.Text}); err != nil {
		// After a failed write, the server may still have read the whole line.
		return channels.Receipt{}, &channels.SendError{Err: err, Unknown: !errors.Is(err, errNotConnected), After: pause}
	}
	return channels.Receipt{ID: o.Key}, nil
}

// Examine finds out whether the server can be reached.
func (c *Channel) Examine(ctx context.Context, _ channels.ExamineOptions) []channels.Finding {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.settings.Server)
	if err != nil {
		return []channels.Finding{{Check: Name, Status: channels.Bad, Detail: err.Error(), Fix: "correct channels.example.server"}}
	}
	_ = conn.Close()
	return []channels.Finding{{Check: Name, Status: channels.Good, Detail: c.settings.Server + " can be reached"}}
}
