package gateway

import (
	"context"
	"errors"
	"time"

	"nanobot/channels"
	"nanobot/gateway/runbook/chatrun"
	"nanobot/gateway/tools"
)

// decisionTimeout is how long a tool waits for a decision. The question stays open afterwards.
const decisionTimeout = time.Hour

var (
	errDraining  = errors.New("the bot is about to restart, and the question stays open")
	errUndecided = errors.New("nobody has decided within an hour, and the question stays open")
)

// decideForTool asks the people of a chat to approve or reject the current step of a run, and waits
// for the decision. The clock of the chat's turn is paused meanwhile.
func (g *Gateway) decideForTool(ctx context.Context, chat channels.Chat, run string, step int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, decisionTimeout, errUndecided)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer g.turns.OnIntakeClosed(func() { stop(errDraining) })()
	asked := chatrun.Step{Run: run, Number: step}
	if t, ok := g.lanes.RunningTurn(chat); ok {
		asked.Language = t.Inbound().In.User.Language
		defer t.PauseForTool()()
	}
	err := g.runbooks.Decide(ctx, asked, func() error { return g.admitQuestion(ctx, chat) })
	if errors.Is(err, chatrun.ErrManyOpen) {
		return &tools.RateLimitError{Reason: err.Error()}
	}
	return err
}

// admitQuestion returns an error if a tool must not ask a question in a chat.
func (g *Gateway) admitQuestion(ctx context.Context, chat channels.Chat) error {
	_, err := g.checkAccess(ctx, chat)
	switch {
	case errors.Is(err, errNoAccess):
		return &tools.NotAskedError{Err: err}
	case err != nil:
		return err
	}
	return g.rates.messages.allow(chat, 1)
}
