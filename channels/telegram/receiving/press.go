package receiving

import (
	"context"
	"strconv"

	"github.com/go-telegram/bot"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/sending"
	"nanobot/channels/telegram/updates"
)

// newPress converts a callback query to a message. It has the query's own ID, because a button can
// be pressed again.
func (r *Receiver) newPress(ctx context.Context, p *updates.CallbackQuery) channels.Incoming {
	at := r.o.Sender.PressedChat(ctx, p.Message.Address(), p.Message.Chat.ID, p.Message.ID)
	in := channels.Incoming{
		Chat:  channels.Chat{Channel: chats.Channel, ID: at.String()},
		ID:    "press-" + p.ID,
		User:  p.From.ToUser(),
		Group: p.Message.IsGroup(),
	}
	in.Press, _ = sending.ParseButtonData(p.Data)
	if at.Thread != 0 {
		in.ThreadID = strconv.Itoa(at.Thread)
	}
	return in
}

// answerCallbackQuery ends the progress indicator on a button. For an old press it fails, which
// does not matter.
func (r *Receiver) answerCallbackQuery(ctx context.Context, p *updates.CallbackQuery) {
	err := botapi.ExecuteWithTimeout(ctx, r.o.API, (*bot.Bot).AnswerCallbackQuery, &bot.AnswerCallbackQueryParams{CallbackQueryID: p.ID})
	if err != nil {
		r.log.Debug("press not acknowledged", zap.Error(err))
	}
}

// removeButtons removes the buttons of a message after a press, unless the pressed button stays or
// the person may not talk to the bot.
func (r *Receiver) removeButtons(ctx context.Context, p *updates.CallbackQuery) {
	if _, stays := sending.ParseButtonData(p.Data); !stays && r.o.Admitted(p.From.ToUser().ID) {
		r.o.Sender.RemoveButtons(ctx, p.Message.Chat.ID, p.Message.ID)
	}
}
