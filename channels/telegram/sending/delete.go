package sending

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/go-telegram/bot"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/pace"
	"nanobot/internal/batch"
)

// maxDeletions is how many messages one call may delete.
const maxDeletions = 100

// Remove deletes a message, when no other call needs the rate limit. Messages of a chat that are
// removed at the same time share a call.
func (s *Sender) Remove(ctx context.Context, chat channels.Chat, id string) error {
	to, err := chats.ParseAddress(chat.ID)
	if err != nil {
		return permanent(err)
	}
	d := &deletion{ctx: ctx}
	if to.Chat, d.message, err = chats.ParseMessageID(to.Chat, id); err != nil {
		return permanent(err)
	}
	if s.migrations.CurrentID(ctx, to.Chat) != to.Chat {
		return nil // the message stayed behind in a group that became a supergroup
	}
	if err := s.pace.GiveWay(ctx, 0, pace.Deletion); err != nil {
		return err
	}
	s.deletions.execute(to.Chat, d, s.deleteBatch)
	s.pace.Block(to.Chat, botapi.RetryDelay(d.err), false)
	return httpclient.SendError(d.err)
}

// deletion is one message to delete.
type deletion struct {
	ctx     context.Context //nolint:containedctx // it is that of one call of Remove
	message int
	err     error // set when the deletion was executed
}

// deletionQueues combine the deletions of each chat: those that arrive during a call share the next
// one.
type deletionQueues struct {
	mu    sync.Mutex
	chats map[int64]*deletionQueue
}

type deletionQueue struct {
	queue *batch.Queue[*deletion]
	users int // callers of execute; the last one removes the queue
}

// execute returns when run has executed the deletion.
func (q *deletionQueues) execute(chat int64, d *deletion, run func(chat int64, all []*deletion)) {
	q.mu.Lock()
	one := q.chats[chat]
	if one == nil {
		one = &deletionQueue{queue: batch.New(maxDeletions, func(all []*deletion) { run(chat, all) })}
		q.chats[chat] = one
	}
	one.users++
	q.mu.Unlock()
	one.queue.Do(d)
	q.mu.Lock()
	defer q.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(q.chats, chat)
	}
}

// deleteBatch deletes messages of a chat, with one call if possible. Telegram skips those that are
// gone, and refuses the call if one of the others cannot be deleted. An old server of one's own
// does not know the call. The end of one caller's context does not affect the messages of others.
func (s *Sender) deleteBatch(chat int64, all []*deletion) {
	if len(all) > 1 {
		ids := make([]int, len(all))
		for i, d := range all {
			ids[i] = d.message
		}
		err := botapi.ExecuteWithTimeout(all[0].ctx, s.api, (*bot.Bot).DeleteMessages,
			&bot.DeleteMessagesParams{ChatID: chat, MessageIDs: ids})
		if err == nil || !isRefusedForOne(err) && all[0].ctx.Err() == nil {
			for _, d := range all {
				d.err = s.withoutMigration(chat, err)
			}
			return
		}
	}
	for _, d := range all {
		d.err = botapi.ExecuteWithTimeout(d.ctx, s.api, (*bot.Bot).DeleteMessage,
			&bot.DeleteMessageParams{ChatID: chat, MessageID: d.message})
		if d.err = s.withoutMigration(chat, d.err); isMessageGone(d.err) {
			d.err = nil
		}
	}
}

// isRefusedForOne reports whether the deletion of several messages may succeed for each of them
// alone: one of them cannot be deleted, or the server does not know the call. A chat that the bot
// cannot reach refuses all of them.
func isRefusedForOne(err error) bool {
	var apiErr *botapi.Error
	return errors.As(err, &apiErr) && apiErr.MigrateTo == 0 && !apiErr.Mentions(chatErrors...) &&
		(apiErr.Code == http.StatusBadRequest || botapi.IsMethodUnknown(err))
}

// withoutMigration returns nil for an error that says that the group became a supergroup: the
// messages stayed behind, where nobody sees them.
func (s *Sender) withoutMigration(chat int64, err error) error {
	if to := botapi.MigratedTo(err); to != 0 {
		s.migrations.RecordNewID(chat, to)
		return nil
	}
	return err
}
