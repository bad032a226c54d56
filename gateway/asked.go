package gateway

import (
	"context"

	"go.uber.org/zap"

	"nanobot/gateway/store"
	"nanobot/terminal"
)

// noAnswer is how a question ends that nobody answered.
const noAnswer = "no answer"

// unanswered closes a question that waits no more, so that it takes no answer that is meant for another. One that was answered at the same
// moment is answered. When we shut down it stays open, for the next run of the item.
func (t *turn) unanswered(id string, why error) (terminal.Answer, error) {
	if t.g.killed.Err() != nil {
		return terminal.Answer{}, why
	}
	ctx := context.WithoutCancel(t.ctx)
	withdrawn, err := t.g.o.Store.Withdraw(ctx, id)
	var q store.Question
	if err == nil {
		q, _, err = t.g.o.Store.Question(ctx, id)
	}
	switch {
	case err != nil: // it is closed with the turn
		t.log.Warn("question not closed", zap.Error(err))
	case q.Answer != nil:
		return answerTo(q), nil
	case withdrawn:
		t.g.outbox.ShowEnd(q, noAnswer)
	}
	return terminal.Answer{}, why
}
