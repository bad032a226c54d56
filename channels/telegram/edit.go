package telegram

import (
	"context"
	"fmt"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels"
)

// Edit replaces the text and the buttons of a message. Files of o are ignored.
func (c *Channel) Edit(ctx context.Context, id string, o channels.Outgoing) error {
	p, message, err := postForMessage(o, id)
	if err != nil {
		return &channels.SendError{Err: err, Permanent: true}
	}
	p.sendAs, p.files, p.class.edit = asText, nil, true
	err = c.callWithRepairs(ctx, p, func() error {
		params := &bot.EditMessageTextParams{
			ChatID: p.destination.chat, MessageID: message, Text: validUTF8(p.text.Text), Entities: messageEntities(p.text.Entities),
			LinkPreviewOptions: noPreview(), ReplyMarkup: keyboard(o.Buttons),
		}
		if c.isRich(p) {
			params.Text, params.Entities, params.LinkPreviewOptions, params.RichMessage = "", nil, nil, &models.InputRichMessage{HTML: p.rich}
		}
		_, err := execute(ctx, c.api, (*bot.Bot).EditMessageText, params)
		return err
	})
	switch {
	case isNotModified(err):
		return nil
	case isMessageGone(err):
		return &channels.SendError{Err: fmt.Errorf("%w: %w", channels.ErrGone, err), Permanent: true}
	}
	return sendError(err)
}

// Replace edits a message. Telegram's edits are permanent, so the receipt is the same message.
func (c *Channel) Replace(ctx context.Context, id string, o channels.Outgoing) (channels.Receipt, error) {
	return channels.Receipt{ID: id}, c.Edit(ctx, id, o)
}

// postForMessage returns a post for a call about an existing message.
func postForMessage(o channels.Outgoing, id string) (p *outgoingPost, message int, err error) {
	if p, err = newOutgoingPost(o); err != nil {
		return nil, 0, err
	}
	p.destination.chat, message, err = parseMessageID(p.originalChat, id)
	p.fixedChat = true
	return p, message, err
}
