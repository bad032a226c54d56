package web

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"time"

	"nanobot/channels"
)

// transientID names a transient message.
type transientID struct{ chat, id string }

// transient is a transient message as it is shown now. It is in memory only, since the turn that it
// belongs to does not survive a restart.
type transient struct {
	since   time.Time
	seq     int64 // reserved in the history, so that it can be stored in place; 0: none
	buttons []channels.Button
	event   *streamEvent // also has the owner
}

var errNoTransient = errors.New("the transient message does not exist")

// progressEvent shows or changes a transient message.
type progressEvent struct {
	Chat    string            `json:"chat"`
	ID      string            `json:"id"`
	HTML    string            `json:"html"`
	Text    string            `json:"text"`
	Since   time.Time         `json:"since"`
	Buttons []channels.Button `json:"buttons"`
	// Draft says that the text is the beginning of the answer.
	Draft bool `json:"draft,omitempty"`
}

// chatEvent says that a transient message was removed, or that the bot is typing.
type chatEvent struct {
	Chat string `json:"chat"`
	ID   string `json:"id,omitempty"`
}

// showTransient shows a transient message. Progress may be stored later: above the messages that
// are sent meanwhile, as on networks where it is edited.
func (c *Channel) showTransient(ctx context.Context, id string, o channels.Outgoing) error {
	h, err := c.openHistory()
	if err != nil {
		return err
	}
	t := transient{since: time.Now().UTC().Truncate(time.Millisecond)}
	owner, _, err := h.ChatOwner(ctx, o.Chat.ID)
	if err == nil && o.Kind == channels.Progress {
		t.seq, err = h.Reserve(ctx, o.Chat.ID, id)
	}
	if err == nil {
		c.hub.showTransient(transientID{o.Chat.ID, id}, owner, t, o)
	}
	return chatError(err)
}

// Edit changes a transient message. Stored messages cannot be changed. With details the transient
// message becomes a stored one.
func (c *Channel) Edit(ctx context.Context, id string, o channels.Outgoing) error {
	if o.Details != "" {
		return c.storeTransient(ctx, id, o)
	}
	if !c.hub.editTransient(transientID{o.Chat.ID, id}, o) {
		return &channels.SendError{Err: errNoTransient, Permanent: true}
	}
	return nil
}

// storeTransient stores a message in place of a transient one, under its ID. A repetition changes
// nothing.
func (c *Channel) storeTransient(ctx context.Context, id string, o channels.Outgoing) error {
	h, err := c.openHistory()
	if err != nil {
		return err
	}
	key := transientID{o.Chat.ID, id}
	d, err := newBotEvent(id, o)
	if err != nil {
		return err
	}
	seq := c.hub.findTransient(key).seq
	if seq == 0 {
		found, err := h.HasMessage(ctx, o.Chat.ID, id)
		if !found && err == nil {
			err = &channels.SendError{Err: errNoTransient, Permanent: true}
		}
		return err
	}
	if err := h.Insert(ctx, seq, d); err != nil {
		return chatError(err)
	}
	c.hub.removeTransient(key)
	return nil
}

// Remove removes a transient message, or the content of a person's message. After a restart there
// is no transient message to remove.
func (c *Channel) Remove(ctx context.Context, chat channels.Chat, id string) error {
	if c.hub.removeTransient(transientID{chat.ID, id}) {
		return nil
	}
	h, err := c.openHistory()
	if err == nil {
		err = h.RemoveContent(ctx, chat.ID, messageID(id))
	}
	return err
}

// Typing shows the typing indicator.
func (c *Channel) Typing(ctx context.Context, chat channels.Chat) error {
	h, err := c.openHistory()
	if err != nil {
		return err
	}
	owner, _, err := h.ChatOwner(ctx, chat.ID) // a chat without messages has none: only operators see it
	if err != nil {
		return chatError(err)
	}
	c.hub.publish(&streamEvent{name: "typing", owner: owner, data: func() any { return chatEvent{Chat: chat.ID} }})
	return nil
}

// showTransient sends a transient message to all watchers, also to those that connect later.
func (h *hub) showTransient(id transientID, owner string, t transient, o channels.Outgoing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setTransient(id, owner, t, o)
}

// editTransient reports false if the transient message does not exist.
func (h *hub) editTransient(id transientID, o channels.Outgoing) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.transients[id]
	if b != nil {
		h.setTransient(id, b.event.owner, *b, o)
	}
	return b != nil
}

// findTransient returns a transient message; the zero value if there is none.
func (h *hub) findTransient(id transientID) transient {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b := h.transients[id]; b != nil {
		return *b
	}
	return transient{}
}

func (h *hub) setTransient(id transientID, owner string, t transient, o channels.Outgoing) {
	f := &streamEvent{name: "progress", owner: owner, data: func() any {
		return progressEvent{
			Chat: id.chat, ID: id.id, HTML: renderOutgoing(o), Text: o.Text, Since: t.since,
			Buttons: nonNil(o.Buttons), Draft: o.Kind == channels.Draft,
		}
	}}
	t.buttons, t.event = o.Buttons, f
	h.transients[id] = &t
	h.notifyWatchers(f)
}

// removeTransient reports whether the transient message has existed.
func (h *hub) removeTransient(id transientID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.transients[id]
	if b != nil {
		delete(h.transients, id)
		h.notifyWatchers(&streamEvent{
			name: "gone", owner: b.event.owner,
			data: func() any { return chatEvent{id.chat, id.id} },
		})
	}
	return b != nil
}

// dropTransients removes the transient messages of a deleted chat.
func (c *Channel) dropTransients(chat string) {
	c.hub.mu.Lock()
	ids := slices.Collect(maps.Keys(c.hub.transients))
	c.hub.mu.Unlock()
	for _, id := range ids {
		if id.chat == chat {
			c.hub.removeTransient(id)
		}
	}
}

// newID returns a random ID.
func newID() string { return rand.Text() }

// nonNil returns a slice that is never null in JSON.
func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
