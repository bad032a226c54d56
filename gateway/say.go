package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// letter says where a message belongs.
type letter struct {
	item  *store.Item
	place int // among the messages of a turn; 0 for what is no part of the agent's answer
}

// reportPlace and those behind it are for the gateway's own words about a turn that must not be said twice, one for each attempt.
const reportPlace = 1 << 30

// say puts a message into the outbox, cut into network calls, its files copied. When it returns nil the message will arrive, whatever
// happens to us or to the agent's files.
func (g *Gateway) say(ctx context.Context, ch channels.Channel, m channels.Message, l letter) error {
	if l.item != nil {
		m.Chat, m.ReplyTo = l.item.In.Chat, l.item.In.ID
	}
	if err := g.keep(ctx, &m); err != nil {
		return err
	}
	parts, err := ch.Plan(m)
	if err != nil {
		return fmt.Errorf("plan message: %w", err)
	}
	if len(parts) == 0 {
		return nil
	}
	out := store.Letter{Parts: parts, Place: l.place}
	if l.item != nil {
		out.Item = l.item.ID
	}
	if l.place > 0 && l.place < reportPlace && m.Kind != channels.Progress {
		out.Entry = &store.Entry{Role: "agent", Text: m.Text, Item: out.Item}
		for _, f := range m.Media {
			out.Entry.Media = append(out.Entry.Media, f.Name)
		}
	}
	if err := g.senders.post(ctx, out); err != nil {
		return fmt.Errorf("%w: %w", errNotStored, err)
	}
	return nil
}

// errNotStored says that the store could not take something that it may take later.
var errNotStored = errors.New("store message")

// keep copies a message's files into the spool. One that cannot be read, because the agent has taken it away meanwhile perhaps, is named
// instead.
func (g *Gateway) keep(ctx context.Context, m *channels.Message) error {
	var kept []channels.File
	for _, f := range m.Media {
		path, err := g.o.Store.Keep(ctx, f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			m.Text = strings.TrimLeft(m.Text+fmt.Sprintf("\n⚠ %q was not sent: the agent removed it at once.", f.Name), "\n")
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO), ctx.Err() != nil:
			return fmt.Errorf("%w: %w", errNotStored, err)
		case errors.Is(err, store.ErrChanged):
			m.Text = strings.TrimLeft(m.Text+fmt.Sprintf("\n⚠ %q was not sent: the agent changed it at once.", f.Name), "\n")
		case err != nil:
			m.Text = strings.TrimLeft(m.Text+fmt.Sprintf("\n⚠ %q was not sent: it cannot be read any more.", f.Name), "\n")
		default:
			f.Path = path
			kept = append(kept, f)
		}
	}
	m.Media = kept
	return nil
}

// note is say for the gateway's own words to a chat.
func (g *Gateway) note(ctx context.Context, in channels.Incoming, text string, buttons ...channels.Button) error {
	ch, ok := g.o.Channels[in.Chat.Channel]
	if !ok {
		return fmt.Errorf("no channel %s", in.Chat.Channel)
	}
	return g.say(ctx, ch, channels.Message{Chat: in.Chat, Kind: channels.Answer, Text: text, ReplyTo: in.ID, Buttons: buttons}, letter{})
}
