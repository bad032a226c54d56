package intake

import (
	"context"
	"slices"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// dropLateSecret stores a reply to a secret question that is no longer open, without its text. It
// reports false for any other message.
func (i *Intake) dropLateSecret(ctx context.Context, in channels.Incoming) (bool, error) {
	late, err := i.repliesToSecret(ctx, in)
	if err != nil || !late {
		return false, err
	}
	closed := toSender(i.words(in).Text(words.QuestionClosed))
	request := store.ReceiveRequest{In: in, Cursor: in.Cursor, Settle: true, Reason: store.ByLateReply, Secret: true}
	_, err = i.storeAnswered(ctx, request, closed)
	return true, err
}

// repliesToSecret reports whether a message is a reply to a secret question, open or not.
func (e *enqueuer) repliesToSecret(ctx context.Context, in channels.Incoming) (bool, error) {
	if in.Press != "" || in.ReplyTo == nil || in.ReplyTo.ID == "" {
		return false, nil
	}
	return e.o.Store.AsksSecret(ctx, in.Chat, in.ReplyTo.ID)
}

// mayBeSecret reports whether a message that is not handled could be the answer to a secret
// question, or a line for a program that reads a password.
func (e *enqueuer) mayBeSecret(ctx context.Context, in channels.Incoming) (bool, error) {
	if in.Press != "" {
		return false, nil
	}
	open, err := e.o.Store.OpenQuestions(ctx, in.Chat)
	if err != nil || slices.ContainsFunc(open, func(q store.Question) bool { return q.Secret }) {
		return err == nil, err
	}
	if c := e.controls.findControl(in); c != nil && c.readsSecret() {
		return true, nil
	}
	return e.repliesToSecret(ctx, in)
}

// readsSecret reports whether the protocol would type the message where a program reads a password.
func (c *control) readsSecret() bool {
	reader, ok := c.runner.(terminal.SecretReader)
	return ok && c.in.Press == "" && reader.ReadsSecret(c.request)
}
