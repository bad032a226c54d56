package telegram

import (
	"context"
	"fmt"

	"github.com/go-telegram/bot"

	"nanobot/channels"
)

// Edit replaces the text of a message and its buttons. Files cannot be edited in: only the text of
// o is shown.
func (c *Channel) Edit(ctx context.Context, id string, o channels.Outgoing) error {
	p, message, err := about(o, id)
	if err != nil {
		return &channels.SendError{Err: err, Permanent: true}
	}
	p.as, p.files, p.edits = asText, nil, true
	err = c.insist(ctx, p, func() error {
		_, err := execute(ctx, c.api, (*bot.Bot).EditMessageText, &bot.EditMessageTextParams{
			ChatID: p.to.chat, MessageID: message, Text: valid(p.words.Text), Entities: messageEntities(p.words.Entities),
			LinkPreviewOptions: noPreview(), ReplyMarkup: keyboard(o.Buttons),
		})
		return err
	})
	switch {
	case unchanged(err):
		return nil
	case gone(err):
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
	p, message, err := about(channels.Outgoing{Chat: chat}, id)
	if err != nil {
		return &channels.SendError{Err: err, Permanent: true}
	}
	err = c.insist(ctx, p, func() error {
		_, err := execute(ctx, c.api, (*bot.Bot).DeleteMessage, &bot.DeleteMessageParams{ChatID: p.to.chat, MessageID: message})
		return err
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
