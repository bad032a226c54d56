package turn

import (
	"context"

	"go.uber.org/zap"

	"nanobot/gateway/retry"
	"nanobot/terminal"
)

// hideSecret moves the text of the message to secret if the agent types it where a program reads a
// password.
func (t *Turn) hideSecret() {
	in := &t.inbound.In
	reader, ok := t.settings.Runner.(terminal.SecretReader)
	if ok && t.executor == nil && reader.ReadsSecret(terminal.ControlRequest{Chat: in.Chat.String(), Args: in.Text}) {
		t.secret, in.Text = in.Text, ""
	}
}

// eraseText removes the text of the message from the store, and the message from the chat. The turn
// has the text; after a crash the program that has asked for it is gone. It reports false if
// another member has the turn.
func (t *Turn) eraseText(untilKilled context.Context) bool {
	_ = retry.Until(untilKilled, func() error {
		secrets, err := t.stage.o.Store.EraseText(context.WithoutCancel(untilKilled), t.inbound.ID)
		for _, transient := range secrets {
			t.stage.o.Outbox.Remove(transient)
		}
		if t.isFenced(err) {
			return nil
		}
		return err
	}, func(err error) { t.log.Warn("secret not erased, will retry", zap.Error(err)) })
	return !t.lost.Load()
}
