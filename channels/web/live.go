package web

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"nanobot/channels"
)

// bubbleID names a progress bubble.
type bubbleID struct{ chat, id string }

// bubble is the progress of a turn, as it is shown now. It is kept in memory only: after a restart
// there is no turn that it belongs to.
type bubble struct {
	since   time.Time
	buttons []channels.Button
	frame   *frame // which knows whose it is
}

var errNoBubble = errors.New("there is no such progress, or it is gone")

// progress is what those who watch are told of a bubble.
type progress struct {
	Chat    string            `json:"chat"`
	ID      string            `json:"id"`
	HTML    string            `json:"html"`
	Text    string            `json:"text"`
	Since   time.Time         `json:"since"`
	Buttons []channels.Button `json:"buttons"`
	// Draft says that it is the beginning of the answer.
	Draft bool `json:"draft,omitempty"`
}

// passing is what those who watch are told of a bubble that is gone, or of somebody who types.
type passing struct {
	Chat string `json:"chat"`
	ID   string `json:"id,omitempty"`
}

// show puts up a bubble.
func (c *Channel) show(ctx context.Context, id string, o channels.Outgoing) error {
	owner, err := c.owner(ctx, o.Chat.ID)
	if err == nil {
		c.hub.show(bubbleID{o.Chat.ID, id}, owner, o)
	}
	return err
}

// Edit changes a progress bubble that is shown. What is kept is not changed any more.
func (c *Channel) Edit(_ context.Context, id string, o channels.Outgoing) error {
	if !c.hub.edit(bubbleID{o.Chat.ID, id}, o) {
		return &channels.SendError{Err: errNoBubble, Permanent: true}
	}
	return nil
}

// Remove takes a progress bubble away. One from before a restart went with it.
func (c *Channel) Remove(_ context.Context, chat channels.Chat, id string) error {
	c.hub.remove(bubbleID{chat.ID, id})
	return nil
}

// Typing shows that something is being done.
func (c *Channel) Typing(ctx context.Context, chat channels.Chat) error {
	owner, err := c.owner(ctx, chat.ID)
	if err != nil {
		return err
	}
	c.hub.publish(&frame{event: "typing", owner: owner, data: func() any { return passing{Chat: chat.ID} }})
	return nil
}

// show tells everybody of a bubble, and those who come later.
func (h *hub) show(id bubbleID, owner string, o channels.Outgoing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.put(id, owner, time.Now().UTC().Truncate(time.Millisecond), o)
}

// edit is false when there is nothing to change.
func (h *hub) edit(id bubbleID, o channels.Outgoing) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.bubbles[id]
	if b != nil {
		h.put(id, b.frame.owner, b.since, o)
	}
	return b != nil
}

func (h *hub) put(id bubbleID, owner string, since time.Time, o channels.Outgoing) {
	f := &frame{event: "progress", owner: owner, data: func() any {
		return progress{Chat: id.chat, ID: id.id, HTML: renderOutgoing(o), Text: o.Text, Since: since, Buttons: list(o.Buttons), Draft: o.Kind == channels.Draft}
	}}
	h.bubbles[id] = &bubble{since: since, buttons: o.Buttons, frame: f}
	h.tell(f)
}

func (h *hub) remove(id bubbleID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b := h.bubbles[id]; b != nil {
		delete(h.bubbles, id)
		h.tell(&frame{event: "gone", owner: b.frame.owner, data: func() any { return passing{id.chat, id.id} }})
	}
}

// button finds a button of a bubble that is shown.
func (h *hub) button(id bubbleID, data string) (channels.Button, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.bubbles[id]
	if b == nil {
		return channels.Button{}, false
	}
	at := slices.IndexFunc(b.buttons, func(x channels.Button) bool { return x.Data == data })
	if at < 0 {
		return channels.Button{}, false
	}
	return b.buttons[at], true
}

// owner is whose a chat is. One that nobody has written in is nobody's, which operators see.
func (c *Channel) owner(ctx context.Context, chat string) (string, error) {
	h, err := c.history()
	if err != nil {
		return "", err
	}
	owner, _, err := h.Owner(ctx, chat)
	return owner, err
}

// newID names what has no name of its own.
func newID() string { return rand.Text() }

// list is a slice that is never null in JSON.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
