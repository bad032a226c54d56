package telegram

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/go-telegram/bot"

	"nanobot/channels"
	"nanobot/internal/batch"
)

// maxDeletions is how many messages one call may delete.
const maxDeletions = 100

// Remove deletes a message, when no other call needs the rate limit. Messages of a chat that are
// removed at the same time share a call.
func (c *Channel) Remove(ctx context.Context, chat channels.Chat, id string) error {
	to, err := parseChatAddress(chat.ID)
	if err != nil {
		return &channels.SendError{Err: err, Permanent: true}
	}
	d := &deletion{ctx: ctx}
	if to.chat, d.message, err = parseMessageID(to.chat, id); err != nil {
		return &channels.SendError{Err: err, Permanent: true}
	}
	if c.currentChat(ctx, to.chat) != to.chat {
		return nil // the message stayed behind in a group that became a supergroup
	}
	if err := c.pace.giveWay(ctx, to.chat); err != nil {
		return err
	}
	c.deletions.execute(to.chat, d, c.deleteBatch)
	var apiErr *apiError
	if errors.As(d.err, &apiErr) {
		c.pace.block(to.chat, apiErr.retryDelay(), false)
	}
	return sendError(d.err)
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
func (c *Channel) deleteBatch(chat int64, all []*deletion) {
	if len(all) > 1 {
		ids := make([]int, len(all))
		for i, d := range all {
			ids[i] = d.message
		}
		err := executeWithTimeout(all[0].ctx, c.api, (*bot.Bot).DeleteMessages, &bot.DeleteMessagesParams{ChatID: chat, MessageIDs: ids})
		if err == nil || !isRefusedForOne(err) && all[0].ctx.Err() == nil {
			for _, d := range all {
				d.err = c.withoutMigration(chat, err)
			}
			return
		}
	}
	for _, d := range all {
		d.err = executeWithTimeout(d.ctx, c.api, (*bot.Bot).DeleteMessage, &bot.DeleteMessageParams{ChatID: chat, MessageID: d.message})
		if d.err = c.withoutMigration(chat, d.err); isMessageGone(d.err) {
			d.err = nil
		}
	}
}

// isRefusedForOne reports whether the deletion of several messages may succeed for each of them
// alone: one of them cannot be deleted, or the server does not know the call. A chat that the bot
// cannot reach refuses all of them.
func isRefusedForOne(err error) bool {
	var apiErr *apiError
	return errors.As(err, &apiErr) && apiErr.MigrateTo == 0 && !apiErr.mentions(chatErrors...) &&
		(apiErr.Code == http.StatusBadRequest || isMethodUnknown(err))
}

// withoutMigration returns nil for an error that says that the group became a supergroup: the
// messages stayed behind, where nobody sees them.
func (c *Channel) withoutMigration(chat int64, err error) error {
	if to := migratedTo(err); to != 0 {
		c.migrations.recordNewID(chat, to)
		return nil
	}
	return err
}
