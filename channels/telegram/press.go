package telegram

import (
	"context"
	"strconv"
	"strings"

	"github.com/go-telegram/bot"
	"go.uber.org/zap"

	"nanobot/channels"
)

// stayMark leads the data of a button that stays when it is pressed: Telegram tells nothing else of
// the button that was pressed.
const stayMark = "+"

// buttonData is what a button carries to Telegram and back.
func buttonData(b channels.Button) string {
	if b.Stays {
		return stayMark + b.Data
	}
	return b.Data
}

// pressed makes a message of a press. Its id is the press's own: a button may be pressed again.
func pressed(p *press) channels.Incoming {
	at := p.Message.place()
	in := channels.Incoming{
		Chat:  channels.Chat{Channel: Name, ID: at.String()},
		ID:    "press-" + p.ID,
		User:  p.From.user(),
		Press: strings.TrimPrefix(p.Data, stayMark),
	}
	if at.thread != 0 {
		in.ThreadID = strconv.Itoa(at.thread)
	}
	return in
}

// acknowledge ends the waiting sign on a button. It is too late when the press is old, which does
// not matter.
func (c *Channel) acknowledge(ctx context.Context, p *press) {
	err := executeWithTimeout(ctx, c.api, (*bot.Bot).AnswerCallbackQuery, &bot.AnswerCallbackQueryParams{CallbackQueryID: p.ID})
	if err != nil {
		c.log.Debug("press not acknowledged", zap.Error(err))
	}
}

// removeButtons takes the buttons away that were pressed, so that they are not pressed again,
// unless the one that was pressed stays.
func (c *Channel) removeButtons(ctx context.Context, p *press) {
	if strings.HasPrefix(p.Data, stayMark) {
		return
	}
	if c.o.Known != nil && !c.o.Known(p.From.user().ID) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	chat := p.Message.Chat.ID
	err := c.pace.wait(ctx, chat, 1, true)
	if err == nil {
		params := &bot.EditMessageReplyMarkupParams{ChatID: chat, MessageID: p.Message.ID}
		_, err = execute(ctx, c.api, (*bot.Bot).EditMessageReplyMarkup, params)
	}
	if err != nil && !unchanged(err) {
		c.log.Debug("buttons not removed", zap.Error(err))
	}
}
