package telegram

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"nanobot/channels"
)

// part is an update as a part of a message. prefix stands before its id; see recognise.
func (c *Channel) part(u *update, prefix, group string) channels.Incoming {
	m := u.Message
	return channels.Incoming{
		Chat: channels.Chat{Channel: Name, ID: m.place().String()}, ID: prefix + m.name(), User: sender(m),
		Part: &channels.Part{Group: group}, Raw: u.raw,
	}
}

// incoming makes one message of one, or of the parts of an album. Its files are on disk when it
// returns; of one that is not, the text says why.
func (c *Channel) incoming(ctx context.Context, parts []*message) channels.Incoming {
	slices.SortStableFunc(parts, func(a, b *message) int { return a.ID - b.ID })
	first := parts[0]
	at := first.place()
	in := channels.Incoming{
		Chat: channels.Chat{Channel: Name, ID: at.String()},
		ID:   c.messageName(first),
		User: sender(first),
	}
	if at.thread != 0 {
		in.ThreadID = strconv.Itoa(at.thread)
	}
	var lines []string
	for _, m := range parts {
		lines = append(lines, c.spoken(m), m.inWords())
		if r := m.reply(); r != nil && in.ReplyTo == nil {
			in.ReplyTo = c.quote(ctx, in, m, r)
		}
	}
	for _, m := range parts {
		path, problem := c.save(ctx, in, m)
		if path != "" {
			in.Media = append(in.Media, path)
		}
		lines = append(lines, problem)
	}
	in.Text = joined(lines)
	return in
}

// joined puts the lines that say something below each other.
func joined(lines []string) string {
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")
}

// quote is the message that another replies to: the part that was pointed at, or all of it.
func (c *Channel) quote(ctx context.Context, in channels.Incoming, m, r *message) *channels.Quote {
	q := &channels.Quote{ID: c.messageName(r)}
	text, _ := r.words()
	if m.Quote != nil && m.Quote.Text != "" {
		text = m.Quote.Text
	}
	path, problem := c.save(ctx, in, r)
	if path != "" {
		q.Media = []string{path}
	}
	q.Text = joined([]string{text, r.inWords(), problem})
	return q
}

// sender is who said something. Who speaks for a group or a channel is that group or channel.
func sender(m *message) channels.User {
	if m.SenderChat != nil {
		return channels.User{ID: strconv.FormatInt(m.SenderChat.ID, 10), Name: channels.SteadyName(m.SenderChat.Title)}
	}
	if m.From == nil {
		return channels.User{}
	}
	return m.From.user()
}

func (u *user) user() channels.User {
	return channels.User{
		ID: strconv.FormatInt(u.ID, 10), Name: strings.TrimSpace(channels.SteadyName(u.FirstName + " " + u.LastName)), Username: u.Username,
	}
}

// save downloads a message's file, if it has one. If that fails, problem says so to the reader.
func (c *Channel) save(ctx context.Context, in channels.Incoming, m *message) (path, problem string) {
	f := m.media()
	if f == nil {
		return "", ""
	}
	if c.o.Known != nil && !c.o.Known(in.User.ID) {
		return "", fmt.Sprintf("⚠ %q was not received: its sender is not known to the bot.", f.called(""))
	}
	path, err := c.download(ctx, in.Chat.ID, c.messageName(m), f)
	var big *tooBig
	switch {
	case err == nil:
		return path, ""
	case errors.As(err, &big):
		size := ""
		if f.Size > 0 {
			size = " (" + channels.HumanSize(f.Size) + ")"
		}
		problem = fmt.Sprintf("⚠ %q%s was not received: %s.", f.called(""), size, big.rule())
	default:
		problem = fmt.Sprintf("⚠ %q was not received: its download failed.", f.called(""))
	}
	if ctx.Err() == nil {
		c.log.Error("file not downloaded", zap.Stringer("chat", in.Chat), zap.String("id", in.ID), zap.Error(err))
		c.tell(ctx, in, problem)
	}
	return "", problem
}

// tell says something to who sent a message. It is not tried again: the agent is told as well.
func (c *Channel) tell(ctx context.Context, in channels.Incoming, text string) {
	_, err := c.Send(ctx, channels.Outgoing{Chat: in.Chat, Kind: channels.Failure, Text: text, ReplyTo: in.ID})
	if err != nil {
		c.log.Warn("sender not told that a file was not received", zap.Stringer("chat", in.Chat), zap.Error(err))
	}
}
