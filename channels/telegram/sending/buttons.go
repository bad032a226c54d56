package sending

import (
	"context"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/pace"
)

const (
	// rowWidth is about how many letters fit in a row on a phone, gaps included.
	rowWidth = 28
	// maxLabel is the longest label; the text above the buttons has the full choice.
	maxLabel   = 60
	maxButtons = 100
	// A label of up to shortLabel letters needs less of a margin. Telegram shows up to maxInRow
	// buttons in a row.
	shortLabel, maxInRow = 3, 8
)

// keyboard lays out buttons in rows. It returns nil without buttons: the library would send a nil
// pointer as null.
func keyboard(buttons []channels.Button) models.ReplyMarkup {
	if len(buttons) == 0 {
		return nil
	}
	k := &models.InlineKeyboardMarkup{}
	width := rowWidth
	for _, b := range buttons[:min(len(buttons), maxButtons)] {
		label := []rune(b.Label)
		if len(label) == 0 {
			label = []rune(b.Data)
		}
		if len(label) > maxLabel {
			label = append(label[:maxLabel:maxLabel], '…')
		}
		needed := len(label) + 4
		if len(label) <= shortLabel {
			needed = len(label) + 1
		}
		if width += needed; width > rowWidth || len(k.InlineKeyboard[len(k.InlineKeyboard)-1]) == maxInRow {
			k.InlineKeyboard, width = append(k.InlineKeyboard, nil), needed
		}
		row := &k.InlineKeyboard[len(k.InlineKeyboard)-1]
		*row = append(*row, models.InlineKeyboardButton{Text: string(label), CallbackData: b.Encode()})
	}
	return k
}

// maxButtonDelay is how long the removal of pressed buttons gives way to other calls of a chat.
const maxButtonDelay = 10 * time.Minute

// RemoveButtons removes the buttons of a message after a press, so that they are not pressed again.
func (s *Sender) RemoveButtons(ctx context.Context, chat int64, message int) {
	ctx, cancel := context.WithTimeout(ctx, maxButtonDelay)
	defer cancel()
	returned, err := s.pace.Wait(ctx, chat, 1, pace.Class{Edit: true, Transient: true, Waits: true})
	if err == nil {
		params := &bot.EditMessageReplyMarkupParams{ChatID: chat, MessageID: message}
		err = botapi.ExecuteWithTimeout(ctx, s.api, (*bot.Bot).EditMessageReplyMarkup, params)
		returned()
	}
	if err != nil && !botapi.IsNotModified(err) {
		s.log.Debug("buttons not removed", zap.Error(err))
	}
}
