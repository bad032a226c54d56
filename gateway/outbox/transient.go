package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

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
	// Over ends with the turn; nil: its end has no effect. An edit that hangs is then cancelled
	// after editGrace, since the message is removed if it cannot be edited.
	Over context.Context //nolint:containedctx // it is not that of the call
}

// editGrace is how long an edit that hangs is waited for when the turn has ended.
const editGrace = 500 * time.Millisecond

// edit edits the message of a transient message.
func (box *Outbox) edit(ctx context.Context, editor channels.Editor, id string, t Transient) error {
	if t.Over != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(t.Over, func() { time.AfterFunc(editGrace, cancel) })()
	}
	return box.Call(t.Out.Chat, func() error { return editor.Edit(ctx, id, t.Out) })
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
		return box.screens.show(ctx, ch, t)
	}
	if t.ID != "" {
		editor, ok := ch.(channels.Editor)
		if !ok {
			return t.ID, fmt.Errorf("channel %s edits no messages", chat.Channel)
		}
		return t.ID, box.edit(ctx, editor, t.ID, t)
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
	sent := store.Transient{Chat: chat, ID: receipt.ID, Inbound: t.Inbound, Board: t.Board}
	if box.recordTransient(ctx, sent) {
		box.Remove(sent) // the other member does not know it
		return "", store.ErrFenced
	}
	return receipt.ID, nil
}

// RemoveLeft removes the transient messages of a turn that has ended just now, except for those
// that a delivery replaces within replaceTimeout. A later delivery is sent as a new message.
func (box *Outbox) RemoveLeft(ctx context.Context, chat channels.Chat, inbound int64, ids []string) error {
	left, err := box.o.Store.Transients(ctx)
	if err != nil {
		return err
	}
	ended := time.Now()
	for _, id := range ids {
		e := EndedBoard{Board: store.Transient{Chat: chat, ID: id, Inbound: inbound}, Ended: ended}
		if slices.Contains(left, e.Board) {
			box.EndBoard(e)
			continue
		}
		box.spawn(func(ctx context.Context, task *backgroundTask) {
			box.removals.awaitAnswersUntil(ctx, task, chat, ended.Add(replaceTimeout))
			if box.replacements.remove(messageID{chat, id}) {
				box.EndBoard(e)
			}
		})
	}
	return nil
}
