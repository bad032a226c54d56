package discord

import (
	"context"
	"fmt"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels"
)

// Edit replaces the text of a message and its buttons. Files cannot be edited in: only the text of
// o is shown.
func (c *Channel) Edit(ctx context.Context, id string, o channels.Outgoing) error {
	r, err := messageCall("PATCH", o.Chat, id)
	if err != nil {
		return err
	}
	rows := components(o.Buttons)
	if rows == nil {
		rows = []discordgo.MessageComponent{} // none, and not those that there are
	}
	r.body = content{Text: o.Text, Mentions: nobody, Components: rows}
	if err = c.api.call(ctx, r, nil); gone(err) {
		return &channels.SendError{Err: fmt.Errorf("%w: %w", channels.ErrGone, err), Permanent: true}
	}
	return sendError(err)
}

// Replace edits a message for good.
func (c *Channel) Replace(ctx context.Context, id string, o channels.Outgoing) (channels.Receipt, error) {
	return channels.Receipt{ID: id}, c.Edit(ctx, id, o)
}

// Remove deletes a message.
func (c *Channel) Remove(ctx context.Context, chat channels.Chat, id string) error {
	r, err := messageCall("DELETE", chat, id)
	if err != nil {
		return err
	}
	if err = c.api.call(ctx, r, nil); gone(err) {
		return nil
	}
	return sendError(err)
}

// messageCall is a call about a message that we have sent.
func messageCall(method string, chat channels.Chat, id string) (request, error) {
	if parseFlake(chat.ID) == 0 || parseFlake(id) == 0 {
		return request{}, &channels.SendError{Err: fmt.Errorf("%q in %q is no message of Discord's", id, chat.ID), Permanent: true}
	}
	return request{method: method, route: "/channels/{channel_id}/messages/{message_id}", args: []string{chat.ID, id}}, nil
}

// Typing shows for some ten seconds that somebody is typing. It is left out while the chat must be
// left alone.
func (c *Channel) Typing(ctx context.Context, chat channels.Chat) error {
	if parseFlake(chat.ID) == 0 {
		return fmt.Errorf("%q is no chat of Discord's", chat.ID)
	}
	r := request{method: "POST", route: "/channels/{channel_id}/typing", args: []string{chat.ID}}
	if c.api.limits.held(r) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.api.call(ctx, r, nil)
}
