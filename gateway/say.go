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
	place int   // among the messages of a turn; 0 for what is no part of the agent's answer
	about int64 // the item that a message is about which is no part of its turn, or 0
}

// reportPlace and those behind it are for the gateway's own words about a turn that must not be said twice, one for each attempt.
const reportPlace = 1 << 30

// say puts a message into the outbox, cut into network calls, its files copied. When it returns nil the message will arrive, whatever
// happens to us or to the agent's files.
func (g *Gateway) say(ctx context.Context, ch channels.Channel, m channels.Message, l letter) error {
	return g.newDraft(ch, m, l).post(ctx)
}

// draft is a message on its way to the outbox. What was done stays done when the rest has to be tried again.
type draft struct {
	g       *Gateway
	ch      channels.Channel
	message channels.Message
	letter  letter
	kept    []channels.File // files that are in the spool; those left in the message are not
	places  []string        // of messages that the first parts replace
	parts   []channels.Outgoing
	// copying returns the context of a file's copy, by the size of the file, and copied is told that it was made; nil: nobody cares.
	copying func(size int64) context.Context
	copied  func(size int64)
}

func (g *Gateway) newDraft(ch channels.Channel, m channels.Message, l letter) *draft {
	if l.item != nil {
		m.Chat, m.ReplyTo = l.item.In.Chat, l.item.In.ID
	}
	return &draft{g: g, ch: ch, message: m, letter: l}
}

// post does what is left to be done.
func (d *draft) post(ctx context.Context) error {
	if d.parts == nil {
		if err := d.keep(ctx); err != nil {
			return err
		}
		d.message.Media = d.kept
		var err error
		if d.parts, err = d.ch.Plan(d.message); err != nil {
			return fmt.Errorf("plan message: %w", err)
		}
		if len(d.parts) == 0 {
			return nil
		}
		for i, id := range d.places[:min(len(d.places), len(d.parts))] {
			d.parts[i].Replace = id
		}
	}
	l := d.letter
	out := store.Letter{Parts: d.parts, Place: l.place, About: l.about}
	if l.item != nil {
		out.Item = l.item.ID
	}
	if l.place > 0 && l.place < reportPlace && d.message.Kind != channels.Progress {
		out.Entry = &store.Entry{Role: "agent", Text: d.message.Text, Item: out.Item}
		for _, f := range d.kept {
			out.Entry.Media = append(out.Entry.Media, f.Name)
		}
	}
	if err := d.g.senders.post(ctx, out); err != nil {
		return fmt.Errorf("%w: %w", errNotStored, err)
	}
	return nil
}

// errNotStored says that the store could not take something that it may take later.
var errNotStored = errors.New("store message")

// keep copies a message's files into the spool. One that cannot be copied is named instead, with the reason.
func (d *draft) keep(ctx context.Context) error {
	var most int64
	var words string
	if l, ok := d.ch.(channels.FileLimiter); ok {
		most, words = l.FileLimit(d.message.Chat)
	}
	for len(d.message.Media) > 0 {
		f := d.message.Media[0]
		copying := ctx
		if d.copying != nil {
			copying = d.copying(f.Size)
		}
		path, err := d.g.o.Store.Keep(copying, f.Path, f.Checked, most)
		why := ""
		switch {
		case err == nil:
			f.Path, f.Checked = path, nil
			d.kept = append(d.kept, f)
			if d.copied != nil {
				d.copied(f.Size)
			}
		case errors.Is(err, store.ErrTooLarge):
			why = words
		case errors.Is(err, store.ErrNoRoom):
			why = "there is not enough room for a copy of it on the bot's disk"
		case ctx.Err() == nil && copying.Err() != nil:
			why = "it was still being copied when the turn was ended"
		case errors.Is(err, fs.ErrNotExist):
			why = "the agent removed it at once"
		case errors.Is(err, store.ErrUnavailable), ctx.Err() != nil:
			return fmt.Errorf("%w: %w", errNotStored, err)
		case errors.Is(err, store.ErrChanged):
			why = "the agent changed it at once"
		default:
			why = "it cannot be read any more"
		}
		if why != "" {
			d.message.Text = strings.TrimLeft(d.message.Text+fmt.Sprintf("\n⚠ %q%s was not sent: %s.", f.Name, weight(f, err), why), "\n")
		}
		d.message.Media = d.message.Media[1:]
	}
	return nil
}

// weight is a file's size where that is what was wrong with it.
func weight(f channels.File, err error) string {
	if errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrNoRoom) {
		return " (" + channels.HumanSize(f.Size) + ")"
	}
	return ""
}

// note is say for the gateway's own words to a chat.
func (g *Gateway) note(ctx context.Context, in channels.Incoming, text string, buttons ...channels.Button) error {
	ch, ok := g.o.Channels[in.Chat.Channel]
	if !ok {
		return fmt.Errorf("no channel %s", in.Chat.Channel)
	}
	return g.say(ctx, ch, channels.Message{Chat: in.Chat, Kind: channels.Answer, Text: text, ReplyTo: in.ID, Buttons: buttons}, letter{})
}
