package turn

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// offerPicker posts a picker to the chat. The turn does not wait for a choice. A turn that is
// retried after a crash does not post its picker again.
func (t *Turn) offerPicker(ctx context.Context, p terminal.Picker) error {
	q := store.Question{
		ID: t.questionID(terminal.Question{ID: "picker", Text: p.Text}), Inbound: t.inbound.ID, Chat: t.inbound.In.Chat, Text: p.Text, Approval: p.Approval,
	}
	if _, posted, err := t.stage.o.Store.Question(ctx, q.ID); err != nil || posted {
		return err
	}
	for _, o := range p.Options {
		q.Options, q.Commands = append(q.Options, o.Label), append(q.Commands, o.Command)
	}
	if err := t.stage.o.Outbox.Ask(ctx, outbox.Question{Question: q, ReplyTo: t.inbound.In.ID, Language: t.inbound.In.User.Language}); err != nil {
		return fmt.Errorf("offer: %w", err)
	}
	return nil
}

// closePickers closes the pickers that earlier turns have posted since this turn's message arrived,
// which has closed those before.
func (t *Turn) closePickers(ctx context.Context) {
	if err := t.stage.o.Outbox.ClosePickers(ctx, t.inbound.In.Chat, t.inbound.ID, t.words); err != nil {
		t.log.Warn("pickers not closed", zap.Error(err))
	}
}
