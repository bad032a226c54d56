package outbox

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// removeIncoming deletes a message of a person, which contains a secret, from its chat. If the
// network does not allow that, the person is asked to delete it. The record is dropped after that,
// so that the next start continues after a crash.
func (r *removals) removeIncoming(transient store.Transient) {
	id := messageID{transient.Chat, transient.ID}
	if !r.begin(id) {
		return
	}
	r.box.spawn(func(ctx context.Context, _ *backgroundTask) {
		defer r.end(id)
		log := r.box.o.Log.With(zap.Stringer("chat", transient.Chat), zap.String("id", transient.ID))
		err := errNoEditor
		if editor, ok := r.box.o.Channels[transient.Chat.Channel].(channels.Editor); ok {
			err = r.box.networks.tryUntil(ctx, transient.Chat, removeTimeout, func(ctx context.Context) error {
				return editor.Remove(ctx, transient.Chat, transient.ID)
			})
		}
		if ctx.Err() != nil {
			return // the next start removes it
		}
		if err != nil {
			log.Warn("message with a secret not deleted", zap.Error(err))
			if err := r.askToDelete(ctx, transient); err != nil {
				log.Warn("person not asked to delete a message with a secret", zap.Error(err))
				return
			}
		}
		if err := r.box.o.Store.DropTransient(context.WithoutCancel(ctx), transient); err != nil {
			log.Warn("message with a secret still recorded", zap.Error(err))
		}
	})
}

// errNoEditor says that a channel cannot delete messages.
var errNoEditor = errors.New("the channel deletes no messages")

// askToDelete asks a person to delete their message.
func (r *removals) askToDelete(ctx context.Context, transient store.Transient) error {
	inbound, _, err := r.box.o.Store.Inbound(ctx, transient.Inbound)
	if err != nil {
		return err
	}
	language := inbound.In.User.Language
	return r.box.Post(ctx, &Message{About: transient.Inbound, Message: channels.Message{
		Chat: transient.Chat, Kind: channels.Answer, Text: r.box.o.Words.For(language).Text(words.SecretNotDeleted),
		ReplyTo: transient.ID, Language: language,
	}})
}
