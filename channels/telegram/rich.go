package telegram

import (
	"errors"
	"net/http"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"
)

// isRich reports whether a post is sent as a rich message.
func (c *Channel) isRich(p *outgoingPost) bool { return p.rich != "" && c.support.knows(richMethod) }

// richParams returns the parameters of a call that sends a rich message.
func (p *outgoingPost) richParams() *bot.SendRichMessageParams {
	return &bot.SendRichMessageParams{
		ChatID: p.destination.chat, MessageThreadID: p.destination.thread, RichMessage: models.InputRichMessage{HTML: validUTF8(p.rich)},
		DisableNotification: p.isSilent(), ReplyParameters: p.replyParameters(), ReplyMarkup: keyboard(p.outgoing.Buttons),
	}
}

// isRichRefused reports whether a post is to be sent without its rich form: the server does not
// know rich messages, which is remembered, or does not accept this one. Nothing was sent then.
func (c *Channel) isRichRefused(p *outgoingPost, err error) bool {
	var apiErr *apiError
	if !c.isRich(p) || !errors.As(err, &apiErr) {
		return false
	}
	if c.recordUnknown(richMethod, err) {
		return true
	}
	if apiErr.NotTelegram || apiErr.Code != http.StatusBadRequest || apiErr.mentions(chatErrors...) || isMessageGone(err) || isNotModified(err) {
		return false
	}
	c.log.Warn("rich message refused, sent without its blocks", zap.Stringer("chat", p.outgoing.Chat), zap.Error(err))
	return true
}
