// Package cli is the channel of the local terminal. It reads typed or piped messages and prints
// answers, for people or, as JSON lines, for programs. It knows nothing of agents and commands.
package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"nanobot/channels"
)

// Name is the channel's name in envelopes and chat keys.
const Name = "cli"

// Printer prints messages. Show is not called concurrently.
type Printer interface {
	Show(o channels.Outgoing) error
}

// Input reads the user's messages one by one. It returns io.EOF when there are no more.
type Input interface {
	Read(ctx context.Context) (string, error)
}

// Channel is the local terminal.
type Channel struct {
	chat    channels.Chat
	user    channels.User
	in      Input
	mu      sync.Mutex
	printer Printer
	sent    int
	choices []string // the buttons of the last message; the person types a number or a label
}

var _ channels.Channel = (*Channel)(nil)

// Options are the parameters of New. In may be nil for a channel that only prints.
type Options struct {
	ChatID  string
	User    channels.User
	In      Input
	Printer Printer
}

// New returns the channel of one local chat.
func New(o Options) *Channel {
	return &Channel{chat: channels.Chat{Channel: Name, ID: o.ChatID}, user: o.User, in: o.In, printer: o.Printer}
}

// Incoming returns a message of the user, with an ID that no other process of this chat uses.
func (c *Channel) Incoming(text string, media []string) channels.Incoming {
	return channels.Incoming{Chat: c.chat, ID: rand.Text(), User: c.user, Text: text, Media: media}
}

// Run passes on each message and waits until it is received before it reads the next. It returns
// nil when ctx or the input ends.
func (c *Channel) Run(ctx context.Context, receive channels.Receive) error {
	if c.in == nil {
		<-ctx.Done()
		return nil
	}
	for ctx.Err() == nil {
		text, err := c.in.Read(ctx)
		switch {
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			return nil //nolint:nilerr // the end of the input is no error
		case err != nil:
			return fmt.Errorf("read input: %w", err)
		case strings.TrimSpace(text) == "":
			continue
		}
		text, pressed := c.takeChoice(text)
		in := c.Incoming(text, nil)
		in.Pressed = pressed
		if err := receive(ctx, in); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// takeChoice returns the label of the button that the person has typed, by its number or in other
// letters, or else the text as it is. It reports whether it is a button. Buttons can be chosen
// until the person's next message.
func (c *Channel) takeChoice(text string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	choices := c.choices
	c.choices = nil
	typed := strings.TrimSpace(text)
	if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(choices) {
		return choices[n-1], true
	}
	for _, label := range choices {
		if strings.EqualFold(typed, label) {
			return label, true
		}
	}
	return text, false
}

// screenForm is the form of a message with a screen. The text of the message has both parts.
type screenForm struct {
	Caption string `json:"caption,omitempty"` // Markdown
	Screen  string `json:"screen"`            // not Markdown
}

// Plan returns one call, since a terminal has no limits. The screen and the buttons of progress are
// omitted, because printed lines cannot be removed.
func (c *Channel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	m.ShowQuote()
	var form []byte
	if m.Screen != nil && m.Kind != channels.Progress {
		var err error
		if form, err = json.Marshal(screenForm{Caption: m.Text, Screen: m.Screen.Text()}); err != nil {
			return nil, fmt.Errorf("store the screen: %w", err)
		}
		m.Text = strings.TrimLeft(m.Text+"\n"+m.Screen.Text(), "\n")
	}
	if m.Kind == channels.Progress {
		m.Buttons = nil
	}
	if strings.TrimSpace(m.Text) == "" && len(m.Media) == 0 {
		return nil, nil
	}
	return []channels.Outgoing{{
		Chat: m.Chat, Kind: m.Kind, Text: m.Text, Format: m.Format, Code: m.Code, Media: m.Media, ReplyTo: m.ReplyTo,
		Buttons: m.Buttons, Form: form,
	}}, nil
}

// Send prints a message.
func (c *Channel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.printer.Show(o); err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err, Permanent: true}
	}
	if len(o.Buttons) > 0 {
		c.choices = buttonLabels(o)
	}
	c.sent++
	return channels.Receipt{ID: strconv.Itoa(c.sent)}, nil
}
