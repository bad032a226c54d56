package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
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
	// Repeat allows a send with an unknown outcome to be repeated, where that is safe.
	Repeat bool
}

// Show sends or edits a transient message and returns its id on the network. The store records new
// messages, so that a later start removes them. ctx should outlive the turn: a message with an
// unknown id could never be removed.
func (o *Outbox) Show(ctx context.Context, t Transient) (string, error) {
	chat := t.Out.Chat
	ch, ok := o.o.Channels[chat.Channel]
	if !ok {
		return "", fmt.Errorf("no channel %s", chat.Channel)
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	t.Out.Transient = true
	if t.ID != "" {
		editor, ok := ch.(channels.Editor)
		if !ok {
			return t.ID, fmt.Errorf("channel %s edits no messages", chat.Channel)
		}
		return t.ID, editor.Edit(ctx, t.ID, t.Out)
	}
	tries := 1
	if t.Repeat && repeatable(ch) {
		t.Out.Key, tries = "live-"+rand.Text()[:16], transientTries
	}
	var receipt channels.Receipt
	var err error
	for ; tries > 0; tries-- {
		receipt, err = ch.Send(ctx, t.Out)
		var se *channels.SendError
		if !errors.As(err, &se) || !se.Unknown {
			break
		}
	}
	if err != nil {
		return "", err
	}
	o.recordTransient(ctx, store.Transient{Chat: chat, ID: receipt.ID, Inbound: t.Inbound})
	return receipt.ID, nil
}

// Remove removes a transient message in the background, once the messages that wait to be sent to
// its chat are sent: they may replace it.
func (o *Outbox) Remove(b store.Transient) {
	editor, ok := o.o.Channels[b.Chat.Channel].(channels.Editor)
	id := messageID{b.Chat, b.ID}
	if !ok || !o.beginRemoval(id) {
		return
	}
	o.spawn(func(ctx context.Context) {
		defer o.endRemoval(id)
		if !o.awaitAnswersSent(ctx, b.Chat) {
			return // the next start tries again
		}
		callCtx, cancel := context.WithTimeout(ctx, CallTimeout)
		defer cancel()
		err := removeMessage(callCtx, editor, b)
		var se *channels.SendError
		permanent := errors.As(err, &se) && se.Permanent
		if err != nil {
			o.o.Log.Warn("transient message not removed", zap.Stringer("chat", b.Chat), zap.Bool("retried", !permanent), zap.Error(err))
		}
		if err != nil && !permanent {
			o.EndBoard(EndedBoard{Board: b}) // tries again, and the next start does if that fails
			return
		}
		if err := o.o.Store.DropTransient(ctx, b); err != nil {
			o.o.Log.Warn("transient message still recorded", zap.Stringer("chat", b.Chat), zap.Error(err))
		}
	})
}

// messageID names a message on a network.
type messageID struct {
	chat channels.Chat
	id   string
}

// beginRemoval records that a message is being removed. It reports false if it is already.
func (o *Outbox) beginRemoval(id messageID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.removing[id] {
		return false
	}
	o.removing[id] = true
	return true
}

func (o *Outbox) endRemoval(id messageID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.removing, id)
}

// awaitAnswersSent waits until no message waits to be sent to a chat, except for one that gives
// way. It reports false when ctx ends.
func (o *Outbox) awaitAnswersSent(ctx context.Context, chat channels.Chat) bool {
	o.addRemoval(chat, 1)
	defer o.addRemoval(chat, -1)
	for {
		o.await(ctx, func() bool {
			q, busy := o.chats[chat]
			return !busy || q.givesWay
		})
		newest, err := o.o.Store.Undelivered(ctx, chat, 1)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil && (len(newest) == 0 || newest[0].State != store.Pending || newest[0].Out.GivesWay):
			return true
		}
		// The store cannot be read, or the chat is left on disk for now.
		if !retry.Sleep(ctx, firstBackoff) {
			return false
		}
	}
}

// addRemoval counts the removals that wait until the answers of a chat are sent.
func (o *Outbox) addRemoval(chat channels.Chat, by int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.removals[chat] += by; o.removals[chat] == 0 {
		delete(o.removals, chat)
	}
	o.changed.Broadcast()
}

// RemoveLeft removes the transient messages of an inbound message among ids that no delivery has
// replaced.
func (o *Outbox) RemoveLeft(ctx context.Context, inbound int64, ids []string) error {
	left, err := o.o.Store.Transients(ctx)
	if err != nil {
		return err
	}
	for _, b := range left {
		if b.Inbound == inbound && slices.Contains(ids, b.ID) {
			o.Remove(b)
		}
	}
	return nil
}

// removeMessage removes a message. If the network asks to wait, it waits, up to maxBackoff.
func removeMessage(ctx context.Context, editor channels.Editor, b store.Transient) error {
	for {
		err := editor.Remove(ctx, b.Chat, b.ID)
		if wait := RetryAfter(err); wait <= 0 || wait > maxBackoff || !retry.Sleep(ctx, wait) {
			return err
		}
	}
}
