package sending

import (
	"errors"
	"net/http"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"

	"nanobot/channels/telegram/botapi"
)

// isRich reports whether a post is sent as a rich message.
func (s *Sender) isRich(p *outgoingPost) bool { return p.rich != "" && s.support.knows(richMethod) }

// richParams returns the parameters of a call that sends a rich message.
func (p *outgoingPost) richParams() *bot.SendRichMessageParams {
	return &bot.SendRichMessageParams{
		ChatID: p.destination.Chat, MessageThreadID: p.destination.Thread, RichMessage: models.InputRichMessage{HTML: validUTF8(p.rich)},
		DisableNotification: p.isSilent(), ReplyParameters: p.replyParameters(), ReplyMarkup: keyboard(p.outgoing.Buttons),
	}
}

// isRichRefused reports whether a post is to be sent without its rich form: the server does not
// know rich messages, which is remembered, or does not accept this one. Nothing was sent then.
func (s *Sender) isRichRefused(p *outgoingPost, err error) bool {
	var apiErr *botapi.Error
	if !s.isRich(p) || !errors.As(err, &apiErr) {
		return false
	}
	if s.support.recordUnknown(richMethod, err) {
		return true
	}
	if apiErr.NotTelegram || apiErr.Code != http.StatusBadRequest || apiErr.Mentions(chatErrors...) || isMessageGone(err) || botapi.IsNotModified(err) {
		return false
	}
	s.log.Warn("rich message refused, sent without its blocks", zap.Stringer("chat", p.outgoing.Chat), zap.Error(err))
	return true
}
