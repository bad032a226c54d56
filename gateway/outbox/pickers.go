package outbox

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/internal/words"
)

// ClosePickers closes the open pickers of a chat and removes their buttons, except the picker that
// the inbound message has posted itself. The store needs no query for a chat that asks nothing.
func (box *Outbox) ClosePickers(ctx context.Context, chat channels.Chat, except int64, w words.Words) error {
	open, err := box.o.Store.OpenQuestions(ctx, chat)
	if err != nil {
		return fmt.Errorf("look for open pickers: %w", err)
	}
	for _, q := range open {
		if !q.IsPicker() || except != 0 && q.Inbound == except {
			continue
		}
		if _, err := box.CloseQuestion(ctx, q, w.Text(words.NothingChosen)); err != nil {
			return err
		}
	}
	return nil
}
