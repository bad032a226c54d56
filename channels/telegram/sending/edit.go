package sending

import (
	"context"
	"fmt"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
)

// Edit replaces the text and the buttons of a message. Files of o are ignored.
func (s *Sender) Edit(ctx context.Context, id string, o channels.Outgoing) error {
	p, message, err := postForMessage(o, id)
	if err != nil {
		return permanent(err)
	}
	p.sendAs, p.files, p.class.Edit, p.class.Last = asText, nil, true, o.Last
	err = s.callWithRepairs(ctx, p, func() error {
		params := &bot.EditMessageTextParams{
			ChatID: p.destination.Chat, MessageID: message, Text: validUTF8(p.text.Text), Entities: p.text.Entities,
			LinkPreviewOptions: noPreview(), ReplyMarkup: keyboard(o.Buttons),
		}
		if s.isRich(p) {
			params.Text, params.Entities, params.LinkPreviewOptions, params.RichMessage = "", nil, nil,
				&models.InputRichMessage{HTML: p.rich}
		}
		err := botapi.Execute(ctx, s.api, (*bot.Bot).EditMessageText, params)
		return err
	})
	switch {
	case botapi.IsNotModified(err):
		return nil
	case isMessageGone(err):
		return &channels.SendError{Err: fmt.Errorf("%w: %w", channels.ErrGone, err), Permanent: true}
	}
	return httpclient.SendError(err)
}

// Replace edits a message. Telegram's edits are permanent, so the receipt is the same message.
func (s *Sender) Replace(ctx context.Context, id string, o channels.Outgoing) (channels.Receipt, error) {
	return channels.Receipt{ID: id}, s.Edit(ctx, id, o)
}

// postForMessage returns a post for a call about an existing message.
func postForMessage(o channels.Outgoing, id string) (p *outgoingPost, message int, err error) {
	if p, err = newOutgoingPost(o); err != nil {
		return nil, 0, err
	}
	p.destination.Chat, message, err = chats.ParseMessageID(p.originalChat, id)
	p.fixedChat = true
	return p, message, err
}
