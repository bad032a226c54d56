package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

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
	return g.senders.post(ctx, out)
}

// keep copies a message's files into the spool. One that the agent has taken away meanwhile is named instead.
func (g *Gateway) keep(ctx context.Context, m *channels.Message) error {
	var kept []channels.File
	for _, f := range m.Media {
		path, err := g.o.Store.Keep(ctx, f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			m.Text = strings.TrimLeft(m.Text+fmt.Sprintf("\n⚠ %q was not sent: the agent removed it at once.", f.Name), "\n")
		case err != nil:
			return fmt.Errorf("keep file: %w", err)
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
