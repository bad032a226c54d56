package intake

import (
	"context"

	"go.uber.org/zap"

	"nanobot/gateway/audit"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// removeMessages deletes messages with secrets from their chat, in the background.
func (i *Intake) removeMessages(secrets []store.Transient) {
	for _, b := range secrets {
		i.o.Outbox.Remove(b)
	}
}

// readsSecret reports whether the protocol would type the message where a program reads a password.
func (c *control) readsSecret() bool {
	reader, ok := c.runner.(terminal.SecretReader)
	return ok && c.in.Press == "" && reader.ReadsSecret(c.request)
}

// eraseTypedAhead removes the text of a message from the store if it was typed before its program
// asked for a password.
func (i *Intake) eraseTypedAhead(ctx context.Context, c *control) {
	if c.secret || !c.readsSecret() {
		return
	}
	c.secret = true
	secrets, err := i.o.Store.EraseText(context.WithoutCancel(ctx), c.inbound)
	if err != nil {
		i.o.Log.Warn("secret not erased", zap.Stringer("chat", c.in.Chat), zap.Error(err))
	}
	i.removeMessages(secrets)
}

// auditControl records a message that the protocol is about to carry out.
func (i *Intake) auditControl(c *control) {
	r := audit.Record{Event: audit.Command, Decision: audit.Allowed}
	if c.isCommand() {
		r.Command = "/" + c.request.Command
	}
	if !c.secret {
		r.Text = c.in.Text
	}
	i.o.Audit.Record(c.in, r)
}
