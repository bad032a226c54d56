package telegram

import (
	"context"

	"github.com/go-telegram/bot/models"

	"nanobot/channels"
)

// Edit replaces the text of a message and its buttons. Files cannot be edited in: only the text of o is shown.
func (c *Channel) Edit(ctx context.Context, id string, o channels.Outgoing) error {
	p, message, err := about(o, id)
	if err != nil {
		return &channels.SendError{Err: err, Permanent: true}
	}
	p.as, p.files = asText, nil
	err = c.insist(ctx, p, func() error {
		return c.api.call(ctx, "editMessageText", request{
			Chat: p.to.chat, Message: message, Text: p.words.Text, Entities: p.words.Entities,
			Preview: &models.LinkPreviewOptions{IsDisabled: new(true)}, Keyboard: keyboard(o.Buttons),
		}, nil)
	})
	if unchanged(err) {
		return nil
	}
	return sendError(err)
}

// Remove deletes a message.
func (c *Channel) Remove(ctx context.Context, chat channels.Chat, id string) error {
	p, message, err := about(channels.Outgoing{Chat: chat}, id)
	if err != nil {
		return &channels.SendError{Err: err, Permanent: true}
	}
	err = c.insist(ctx, p, func() error {
		return c.api.call(ctx, "deleteMessage", request{Chat: p.to.chat, Message: message}, nil)
	})
	if gone(err) {
		return nil
	}
	return sendError(err)
}

// about is a call about a message that was sent.
func about(o channels.Outgoing, id string) (p *post, message int, err error) {
	if p, err = newPost(o); err != nil {
		return nil, 0, err
	}
	p.to.chat, message, err = parseMessageID(p.home, id)
	p.pinned = true
	return p, message, err
}
