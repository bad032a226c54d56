package telegram

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"go.uber.org/zap"

	"nanobot/channels"
)

// keepButtonsPrefix marks the data of a button that stays after a press: a callback query has no
// other information about the button.
const keepButtonsPrefix = "+"

// buttonData is the data that Telegram returns with a press.
func buttonData(b channels.Button) string {
	if b.Stays {
		return keepButtonsPrefix + b.Data
	}
	return b.Data
}

// newPress converts a callback query about a message of a chat to a message. It has the query's own
// ID, because a button can be pressed again.
func newPress(p *callbackQuery, at chatAddress) channels.Incoming {
	in := channels.Incoming{
		Chat:  channels.Chat{Channel: Name, ID: at.String()},
		ID:    "press-" + p.ID,
		User:  p.From.toUser(),
		Group: p.Message.isGroup(),
		Press: strings.TrimPrefix(p.Data, keepButtonsPrefix),
	}
	if at.thread != 0 {
		in.ThreadID = strconv.Itoa(at.thread)
	}
	return in
}

// answerCallbackQuery ends the progress indicator on a button. For an old press it fails, which
// does not matter.
func (c *Channel) answerCallbackQuery(ctx context.Context, p *callbackQuery) {
	err := executeWithTimeout(ctx, c.api, (*bot.Bot).AnswerCallbackQuery, &bot.AnswerCallbackQueryParams{CallbackQueryID: p.ID})
	if err != nil {
		c.log.Debug("press not acknowledged", zap.Error(err))
	}
}

// maxButtonDelay is how long the removal of pressed buttons gives way to other calls of a chat.
const maxButtonDelay = 10 * time.Minute

// removeButtons removes the buttons of a message after a press, so that they are not pressed again,
// unless the pressed button stays.
func (c *Channel) removeButtons(ctx context.Context, p *callbackQuery) {
	if strings.HasPrefix(p.Data, keepButtonsPrefix) {
		return
	}
	if c.o.Admitted != nil && !c.o.Admitted(p.From.toUser().ID) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxButtonDelay)
	defer cancel()
	chat := p.Message.Chat.ID
	err := c.pace.waitForSpare(ctx, chat, callClass{edit: true, transient: true})
	if err == nil {
		params := &bot.EditMessageReplyMarkupParams{ChatID: chat, MessageID: p.Message.ID}
		err = executeWithTimeout(ctx, c.api, (*bot.Bot).EditMessageReplyMarkup, params)
	}
	if err != nil && !isNotModified(err) {
		c.log.Debug("buttons not removed", zap.Error(err))
	}
}
