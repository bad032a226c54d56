package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// transientTries bounds how often a transient message is sent while the outcome is unknown, where
// repeating is safe.
const transientTries = 3

// Transient is a message that exists only while a turn runs, such as its board. It is not part of
// the answer: after a crash the next start removes it and does not send it again.
type Transient struct {
	Inbound int64  // the message whose turn it shows
	ID      string // the network's id of the message to edit; "": a new message is sent
	Out     channels.Outgoing
	Board   bool // it is the turn's board
	// Repeat allows a send with an unknown outcome to be repeated, where that is safe.
	Repeat bool
	// Current reports whether a live screen is still to be shown, see channels.Outgoing.
	Current func() bool
}

// Show sends or edits a transient message and returns its id on the network. The store records new
// messages, so that a later start removes them. ctx should outlive the turn: a message with an
// unknown id could never be removed.
func (box *Outbox) Show(ctx context.Context, t Transient) (string, error) {
	chat := t.Out.Chat
	ch, ok := box.o.Channels[chat.Channel]
	if !ok {
		return "", fmt.Errorf("no channel %s", chat.Channel)
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	t.Out.Transient = true
	if t.Out.Live {
		return box.showLive(ctx, ch, t)
	}
	if t.ID != "" {
		editor, ok := ch.(channels.Editor)
		if !ok {
			return t.ID, fmt.Errorf("channel %s edits no messages", chat.Channel)
		}
		return t.ID, box.Call(chat, func() error { return editor.Edit(ctx, t.ID, t.Out) })
	}
	tries := 1
	if t.Repeat && repeatable(ch) {
		t.Out.Key, tries = "live-"+rand.Text()[:16], transientTries
	}
	var receipt channels.Receipt
	var err error
	for ; tries > 0; tries-- {
		err = box.Call(chat, func() (err error) {
			receipt, err = ch.Send(ctx, t.Out)
			return err
		})
		var se *channels.SendError
		if !errors.As(err, &se) || !se.Unknown {
			break
		}
	}
	if err != nil {
		return "", err
	}
	box.recordTransient(ctx, store.Transient{Chat: chat, ID: receipt.ID, Inbound: t.Inbound, Board: t.Board})
	return receipt.ID, nil
}

// RemoveLeft removes the transient messages of an inbound message among ids that no delivery has
// replaced.
func (box *Outbox) RemoveLeft(ctx context.Context, inbound int64, ids []string) error {
	left, err := box.o.Store.Transients(ctx)
	if err != nil {
		return err
	}
	for _, transient := range left {
		if transient.Inbound == inbound && slices.Contains(ids, transient.ID) {
			box.Remove(transient)
		}
	}
	return nil
}
