package gatewaytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"nanobot/channels"
)

// Channel is a channel whose network is a Network.
type Channel struct {
	Name       string
	URL        string
	Idempotent bool
	// Client is http.DefaultClient when nil.
	Client *http.Client
	// MaxFile, if not 0, is the size of the largest file that the network accepts.
	MaxFile int64
	// Timeout, if not 0, bounds a send. TimedOut, if not nil, is called with the key of a send that
	// took longer.
	Timeout  time.Duration
	TimedOut func(key string)
	// Sender is the number of the daemon, for a network that outlives it.
	Sender int
	cursor int
}

var (
	_ channels.Channel  = (*Channel)(nil)
	_ channels.Replacer = (*Channel)(nil)
	_ channels.Repeater = (*Channel)(nil)
	_ channels.Resumer  = (*Channel)(nil)
	_ channels.Typer    = (*Channel)(nil)

	_ channels.FileLimiter = (*Channel)(nil)
)

// Resume continues after the update that was stored last.
func (c *Channel) Resume(cursor string) { c.cursor, _ = strconv.Atoi(cursor) }

// Repeatable reports whether the network carries out a key only once.
func (c *Channel) Repeatable() bool { return c.Idempotent }

// Run polls the network. An update that receive refuses is received again later.
func (c *Channel) Run(ctx context.Context, receive channels.Receive) error {
	for ctx.Err() == nil {
		var ups []Update
		if err := c.request(ctx, http.MethodGet, "/updates?after="+strconv.Itoa(c.cursor), nil, &ups); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the context has ended
			}
			return fmt.Errorf("poll: %w", err)
		}
		for _, u := range ups {
			in := channels.Incoming{
				Chat: channels.Chat{Channel: c.Name, ID: u.Chat}, ID: u.ID, User: channels.User{ID: u.User, Language: u.Language}, Text: u.Text, Press: u.Press,
				Cursor: strconv.Itoa(u.Seq),
			}
			if u.Reply != "" {
				in.ReplyTo = &channels.Quote{ID: u.Reply}
			}
			if err := receive(ctx, in); err != nil {
				if ctx.Err() != nil {
					return nil //nolint:nilerr // likewise
				}
				return fmt.Errorf("receive: %w", err)
			}
			c.cursor = u.Seq
		}
	}
	return nil
}

// FileLimit returns the same limit for all chats.
func (c *Channel) FileLimit(channels.Chat, string) (limit int64, phrase string) {
	return c.MaxFile, fmt.Sprintf("the network takes files up to %d bytes", c.MaxFile)
}

// Plan splits a text into parts of 4,000 characters.
func (c *Channel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	var out []channels.Outgoing
	for _, part := range splitText(m.Text) {
		out = append(out, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Text: part, Code: m.Code, ReplyTo: m.ReplyTo, Notification: m.Notification})
	}
	if len(m.Media) > 0 {
		out = append(out, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Media: m.Media, ReplyTo: m.ReplyTo, Notification: m.Notification})
	}
	if len(out) > 0 {
		out[len(out)-1].Buttons, out[len(out)-1].Details = m.Buttons, m.Details
	}
	return out, nil
}

// splitText splits a text, at white space if there is any in the second half of a part.
func splitText(text string) (parts []string) {
	const maxRunes = 4000
	rest := []rune(text)
	for strings.TrimSpace(string(rest)) != "" {
		end := min(maxRunes, len(rest))
		for i := end; end < len(rest) && i > maxRunes/2; i-- {
			if unicode.IsSpace(rest[i]) {
				end = i
				break
			}
		}
		parts = append(parts, string(rest[:end]))
		rest = rest[end:]
	}
	return parts
}

// Send makes one request.
func (c *Channel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err}
	}
	call, err := newCall(o)
	if err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err, Permanent: true}
	}
	call.Sender = c.Sender
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	var receipt struct{ ID string }
	err = c.request(ctx, http.MethodPost, "/send", call, &receipt)
	if err != nil && c.TimedOut != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.TimedOut(o.Key)
	}
	return channels.Receipt{ID: receipt.ID}, err
}

func newCall(o channels.Outgoing) (Call, error) {
	call := Call{Chat: o.Chat.ID, Key: o.Key, Kind: string(o.Kind), Text: o.Text, Repeat: o.Repeat, ReplyTo: o.ReplyTo, Details: o.Details, Notification: o.Notification}
	for _, b := range o.Buttons {
		call.Buttons = append(call.Buttons, b.Data)
	}
	for _, f := range o.Media {
		b, err := os.ReadFile(f.Path)
		if err != nil {
			return call, err
		}
		if call.Files == nil {
			call.Files = map[string]string{}
		}
		call.Files[f.Name] = string(b)
	}
	return call, nil
}

// Edit changes a message.
func (c *Channel) Edit(ctx context.Context, id string, o channels.Outgoing) error {
	call, err := newCall(o)
	if err != nil {
		return &channels.SendError{Err: err, Permanent: true}
	}
	call.ID = id
	return c.request(ctx, http.MethodPost, "/edit", call, nil)
}

// Replace replaces a transient message by a delivery.
func (c *Channel) Replace(ctx context.Context, id string, o channels.Outgoing) (channels.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err}
	}
	call, err := newCall(o)
	if err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err, Permanent: true}
	}
	call.ID, call.Sender = id, c.Sender
	err = c.request(ctx, http.MethodPost, "/replace", call, nil)
	var se *channels.SendError
	if errors.As(err, &se) && se.Permanent && strings.Contains(err.Error(), "404") {
		se.Err = fmt.Errorf("%w: %w", channels.ErrGone, se.Err)
	}
	return channels.Receipt{ID: id}, err
}

// Remove deletes a message.
func (c *Channel) Remove(ctx context.Context, _ channels.Chat, id string) error {
	return c.request(ctx, http.MethodPost, "/remove", Call{ID: id}, nil)
}

// Typing sends the typing indicator.
func (c *Channel) Typing(ctx context.Context, _ channels.Chat) error {
	return c.request(ctx, http.MethodPost, "/typing", Call{}, nil)
}

func (c *Channel) request(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	client := c.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return &channels.SendError{Err: err, Unknown: true}
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		ms, _ := strconv.Atoi(resp.Header.Get("X-Retry-After-Ms"))
		return &channels.SendError{Err: fmt.Errorf("network says %s", resp.Status), After: time.Duration(ms) * time.Millisecond}
	case resp.StatusCode/100 == 4:
		return &channels.SendError{Err: fmt.Errorf("network says %s", resp.Status), Permanent: true}
	case resp.StatusCode/100 == 5:
		return &channels.SendError{Err: fmt.Errorf("network says %s", resp.Status)}
	}
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return &channels.SendError{Err: err, Unknown: true}
	}
	return nil
}
