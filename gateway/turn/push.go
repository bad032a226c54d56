package turn

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/terminal"
)

var errNobodyThere = errors.New("nobody in the chat has access any more")

// Push posts a message that the agent sends after the turn, as a message of its own. If the store
// cannot accept it now, Push retries until the gateway stops receiving messages.
func (c *chat) Push(f terminal.Frame) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer c.stage.OnIntakeClosed(cancel)()
	m := &outbox.Message{Message: FrameMessage(f)}
	m.Chat, m.Language, m.Silent = c.inbound.In.Chat, c.inbound.In.User.Language, f.Silent
	var refused error // permanently
	err := retry.Until(ctx, func() error {
		last, ok, err := c.stage.o.Access.LastAdmitted(context.Background(), m.Chat)
		if err != nil {
			return err
		}
		if !ok {
			refused = errNobodyThere
			return nil
		}
		m.About = last
		if err = c.stage.o.Outbox.Post(context.Background(), m); err != nil && !errors.Is(err, outbox.ErrNotStored) {
			refused, err = err, nil
		}
		return err
	}, func(err error) { c.log.Error("message between turns not stored, will retry", zap.Error(err)) })
	if err == nil {
		err = refused
	}
	if err != nil {
		c.log.Warn("message between turns not sent", zap.Error(err))
		return fmt.Errorf("post: %w", err)
	}
	return nil
}
