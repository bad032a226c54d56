package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

// receiver receives the updates of one Run: in order within a chat, chats in parallel.
//
// A complete message without pending messages before it in its chat is received at once. Other
// messages become pending: albums, messages with files to download, messages that could not be
// received at the first attempt, and all messages after these in their chat. Each update of a
// pending message is received as a part, which makes it durable, so that Telegram can forget it.
// When the message is complete, it is received as a whole.
type receiver struct {
	c               *Channel
	receive         channels.Receive
	tasks           errgroup.Group // Run waits for them; see startTask
	failures        failureLog
	webhookFailures failureLog // of webhook deliveries

	mu           sync.Mutex
	ended        bool // no new task may start
	chats        map[string]*chatQueue
	pendingCount int                     // of all chats
	addressed    map[senderKey]time.Time // when people have written a text to the bot in groups; see recordAddressed
	pollStart    time.Time               // when the current batch arrived; zero: no batch is being accepted
}

// chatQueue holds the pending messages of one chat. Everything except order is protected by
// receiver.mu.
type chatQueue struct {
	name    string
	order   sync.Mutex // locked while an update is accepted, to keep the order
	users   int        // goroutines that use the queue
	pending []*pendingMessage
}

// Limits of the pending messages of all chats; beyond them Telegram keeps the updates. In webhook
// mode, texts of chats without pending messages are still received; in poll mode polling stops for
// all chats.
const maxPendingWebhook, maxPendingPoll = 250, 5000

func newReceiver(c *Channel, receive channels.Receive) *receiver {
	c.storageHealth.set(nil)
	return &receiver{c: c, receive: receive, chats: map[string]*chatQueue{}, addressed: map[senderKey]time.Time{}, failures: failureLog{health: &c.storageHealth}}
}

// startTask runs a task that Run waits for, unless Run has ended.
func (in *receiver) startTask(task func()) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return false
	}
	in.tasks.Go(func() error { task(); return nil })
	return true
}

// awaitTasks waits for all tasks.
func (in *receiver) awaitTasks() {
	in.mu.Lock()
	in.ended = true
	in.mu.Unlock()
	_ = in.tasks.Wait() // tasks log their own errors
}

// decodeUpdate decodes an update. It reports false for an undecodable update; its ID is 0 if it has
// none.
func (in *receiver) decodeUpdate(raw json.RawMessage) (*update, bool) {
	u := &update{raw: raw}
	err := json.Unmarshal(raw, u) // other fields are decoded even if one has the wrong type
	switch {
	case u.ID == 0:
		in.c.log.Error("update without an id skipped", zap.Int("bytes", len(raw)), zap.Error(err))
	case err != nil:
		in.c.log.Error("undecodable update skipped", zap.Int64("id", u.ID), zap.Error(err))
	default:
		if u.EditedMessage != nil {
			u.Message, u.EditedMessage = u.EditedMessage, nil
			u.Message.isEdit = true
		}
		return u, true
	}
	return u, false
}

// prepareUpdate is called once for each update, in order, before acceptUpdate. It reports false if
// there is nothing to receive.
func (in *receiver) prepareUpdate(ctx context.Context, u *update) bool {
	in.c.migrations.resolveChat(u)
	if u.CallbackQuery != nil {
		in.startTask(func() { in.c.answerCallbackQuery(ctx, u.CallbackQuery) })
		return u.CallbackQuery.Message != nil && u.CallbackQuery.Data != "" // otherwise the message is not the bot's
	}
	return u.Message != nil && !u.Message.isEditOfState()
}

// acceptUpdate receives an update or makes it pending. When it returns nil, Telegram may forget the
// update. cursor returns the cursor to store with it.
func (in *receiver) acceptUpdate(ctx context.Context, u *update, cursor func() string) error {
	m := u.Message
	if u.CallbackQuery == nil && m.album() == "" && !in.c.isForBot(m) && !in.continuesPending(u) && !in.followsAddressed(u) {
		if m.unreadable() != "" && in.c.isAddressed(m) {
			in.startTask(func() { in.c.refuseUnreadable(ctx, m) })
		}
		return in.c.migrations.saveIfMigrated(ctx, in.c.memory, m)
	}
	q := in.acquireQueue(u.chat())
	defer in.releaseQueue(q)
	q.order.Lock()
	defer q.order.Unlock()
	if u.CallbackQuery == nil {
		in.recordAddressed(u)
		m.joinsNext = m.joinsNext || in.c.webhook != nil && in.mayIntroduce(u)
	}
	switch ignored, err := in.isUnknownEdit(ctx, q, u); {
	case ignored || err != nil:
		return err
	case u.CallbackQuery != nil:
		in.supersedePending(q, u.CallbackQuery.From.toUser())
		whole := newPress(u.CallbackQuery, in.c.pressedChat(ctx, u.CallbackQuery))
		whole.Cursor = cursor()
		if err := in.receive(ctx, whole); err != nil {
			return err
		}
		in.startTask(func() { in.c.removeButtons(ctx, u.CallbackQuery) })
		return nil
	case in.canReceiveNow(q, m):
		whole := in.c.newIncoming(ctx, []*message{m})
		whole.Cursor = cursor()
		if err := in.receive(ctx, whole); err == nil || ctx.Err() != nil {
			return err
		}
		// A poll waits for all its updates, so retrying here would stop every other chat. Stored as
		// a part, the message is retried by the goroutine of its own chat.
	}
	return in.storePart(ctx, q, u, cursor)
}

// isUnknownEdit reports whether an update is the edit of a message that was not received, such as a
// group's message that did not mention the bot.
func (in *receiver) isUnknownEdit(ctx context.Context, q *chatQueue, u *update) (bool, error) {
	if u.CallbackQuery != nil || !u.Message.isEdit || in.hasPending(q) {
		return false, nil
	}
	known, err := in.c.memory.Known(ctx, channels.Chat{Channel: Name, ID: q.name}, in.c.gatewayID(u.Message))
	return !known, err
}

func (in *receiver) hasPending(q *chatQueue) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(q.pending) > 0
}

// canReceiveNow reports whether a message can be received at once: it is complete, needs no
// download, and its chat has no pending messages. A menu command ends the wait for further parts,
// and overtakes messages whose files are being downloaded, so that /stop is not delayed.
func (in *receiver) canReceiveNow(q *chatQueue, m *message) bool {
	if m.album() != "" || m.hasFiles() || m.joinsNext || m.mayContinue() {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimSpace(in.c.contentText(m)), " ")
	if strings.HasPrefix(word, "/") && in.c.isMenuCommand(word) && !m.isEdit && m.Origin.value == nil {
		return in.supersedePending(q, sender(m))
	}
	return !in.hasPending(q)
}

// storePart makes an update durable and then pending.
func (in *receiver) storePart(ctx context.Context, q *chatQueue, u *update, cursor func() string) error {
	p, err := in.joinOrCreate(q, u)
	if p == nil || err != nil {
		return err
	}
	part := in.c.newPart(u, in.c.idPrefix, p.group)
	part.Cursor = cursor()
	// A part of a message that was received before is not received again.
	known, err := in.c.memory.Known(ctx, part.Chat, part.ID)
	if err == nil && !known {
		err = in.receive(ctx, part)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	p.storing--
	if err == nil && !known {
		in.addPart(ctx, q, p, u)
	} else if len(p.messages) == 0 {
		in.pendingCount--
	} else if err != nil && in.c.webhook != nil {
		in.awaitResend(p)
	}
	p.recheck()
	return err
}

// joinOrCreate returns the album that an update belongs to, or a new pending message. It returns
// nil for an update that is pending already.
func (in *receiver) joinOrCreate(q *chatQueue, u *update) (*pendingMessage, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range q.pending {
		if slices.Contains(p.updates, u.ID) {
			return nil, nil
		}
	}
	for i, p := range q.pending {
		if p.accepts(u.Message, i == len(q.pending)-1) {
			p.storing++
			return p, nil
		}
	}
	if limit := in.pendingLimit(); in.pendingCount >= limit {
		in.recheckAlbums()
		return nil, fmt.Errorf("%d messages are pending already", limit)
	}
	in.pendingCount++
	if !u.Message.isEdit {
		q.supersede(sender(u.Message))
	}
	p := newPendingMessage(in.c.idPrefix + u.partID())
	p.storing++
	return p, nil
}

func (in *receiver) pendingLimit() int {
	if in.c.webhook == nil {
		return maxPendingPoll
	}
	return maxPendingWebhook
}

// addPart adds a durable update to its pending message. The caller holds receiver.mu.
func (in *receiver) addPart(ctx context.Context, q *chatQueue, p *pendingMessage, u *update) {
	p.updates, p.messages = append(p.updates, u.ID), append(p.messages, u.Message)
	p.lastPartAt, p.awaitsParts, p.deadline = time.Now(), false, time.Time{}
	if len(p.messages) > 1 {
		return
	}
	p.firstPartAt = p.lastPartAt
	p.follows = u.Message.follows() && in.hasAddressed(u)
	q.pending = append(q.pending, p)
	in.tasks.Go(func() error { in.completeMessage(ctx, p); return nil })
	if len(q.pending) == 1 {
		q.users++
		in.tasks.Go(func() error { in.drainQueue(ctx, q); return nil })
	}
}

// acquireQueue returns the queue of a chat. The queue exists until releaseQueue is called, and
// while it has pending messages.
func (in *receiver) acquireQueue(chat string) *chatQueue {
	in.mu.Lock()
	defer in.mu.Unlock()
	q := in.chats[chat]
	if q == nil {
		q = &chatQueue{name: chat}
		in.chats[chat] = q
	}
	q.users++
	return q
}

func (in *receiver) releaseQueue(q *chatQueue) {
	in.mu.Lock()
	defer in.mu.Unlock()
	q.users--
	// When Run ends, messages stay pending. An update that is accepted after that must still find
	// them, or it would be received before them.
	if q.users == 0 && len(q.pending) == 0 {
		delete(in.chats, q.name)
	}
}

// restorePending makes the parts that earlier runs have stored pending again.
func (in *receiver) restorePending(ctx context.Context, parts []channels.Incoming) {
	in.mu.Lock()
	defer in.mu.Unlock()
	foreign, groups := 0, map[string]*pendingMessage{}
	for _, part := range parts {
		if !in.c.isOwnID(part.ID) {
			foreign++
			continue
		}
		u, ok := in.decodeUpdate(part.Raw)
		if !ok || u.Message == nil {
			continue
		}
		u.Message.setOriginalChat(part.Chat.ID)
		q := in.chats[part.Chat.ID]
		if q == nil {
			q = &chatQueue{name: part.Chat.ID}
			in.chats[part.Chat.ID] = q
		}
		key := part.Chat.ID + " " + part.Part.Group
		p := groups[key]
		if p == nil {
			p = newPendingMessage(part.Part.Group)
			groups[key] = p
			in.pendingCount++
		}
		in.addPart(ctx, q, p, u)
		p.awaitsParts = p.awaitsMore()
	}
	if foreign > 0 {
		in.c.log.Warn("messages to another bot are pending; they are received when its token is back", zap.Int("updates", foreign))
	}
	if len(groups) > 0 {
		in.c.log.Info("completing messages of an earlier run", zap.Int("messages", len(groups)))
	}
}

// failureLog logs why updates are not received. Many chats may fail for the same reason: only the
// first of them is logged, until it succeeds.
type failureLog struct {
	mu        sync.Mutex
	reporter  any
	lastError string
	health    *health // may be nil; follows the chat that is logged
}

// report logs the error of a chat if it is new.
func (c *failureLog) report(who any, err error, log func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reporter == nil {
		c.reporter = who
	}
	if c.reporter != who {
		return
	}
	if c.health != nil {
		c.health.set(err)
	}
	if c.lastError != err.Error() {
		c.lastError = err.Error()
		log()
	}
}

// resolve ends the failure of a chat.
func (c *failureLog) resolve(who any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reporter == who {
		c.reporter, c.lastError = nil, ""
		if c.health != nil {
			c.health.set(nil)
		}
	}
}

// retry calls do until it succeeds, and reports false if ctx ends first.
func (in *receiver) retry(ctx context.Context, do func() error) bool {
	pause := newRetrier(zap.NewNop(), "")
	for ctx.Err() == nil {
		err := do()
		if err == nil {
			in.failures.resolve(pause)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		after := pause.Next(err)
		in.failures.report(pause, err, func() {
			in.c.log.Warn("message not received, will retry", zap.Duration("after", after), zap.Error(err))
		})
		if !httpclient.Sleep(ctx, after) {
			return false
		}
	}
	return false
}
