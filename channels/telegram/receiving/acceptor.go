package receiving

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/updates"
)

// acceptor accepts the updates of one Run.
//
// A complete message without pending messages before it in its chat is received at once. Other
// messages become pending: albums, messages with files to download, messages that could not be
// received at the first attempt, and all messages after these in their chat. Each update of a
// pending message is received as a part, which makes it durable, so that Telegram can forget it.
// When the message is complete, it is received as a whole.
type acceptor struct {
	r               *Receiver
	receive         channels.Receive
	pending         *pendingQueues
	failures        failureLog
	webhookFailures failureLog // of webhook deliveries

	tasks   errgroup.Group // Run waits for them; see startTask
	tasksMu sync.Mutex
	ended   bool // no new task may start
}

func newAcceptor(r *Receiver, receive channels.Receive) *acceptor {
	r.storageHealth.set(nil)
	in := &acceptor{r: r, receive: receive, failures: failureLog{health: &r.storageHealth}}
	in.pending = newPendingQueues(r.o.Timing, r.o.Webhook != nil, in.startPending)
	return in
}

// run receives updates until ctx ends, and maintains the webhook. The webhook stays registered
// afterwards, so that Telegram queues updates for the next run.
func (in *acceptor) run(ctx context.Context) error {
	work, ctx := errgroup.WithContext(ctx)
	// closed when Telegram has sent the missing parts of albums that a restart interrupted
	var backlogReceived chan struct{}
	if in.pending.anyAwaitsParts() {
		backlogReceived = make(chan struct{})
		work.Go(func() error {
			select {
			case <-backlogReceived:
				in.pending.stopAwaiting()
			case <-ctx.Done():
			}
			return nil
		})
	}
	h := in.r.o.Webhook
	if h == nil {
		p := &poller{r: in.r, acceptor: in, backlogReceived: backlogReceived}
		work.Go(func() error { return p.run(ctx) })
		return work.Wait()
	}
	deliver := deliverFunc(func(request context.Context, raw []byte) error { return in.handleDelivery(ctx, request, raw) })
	h.deliverUpdate.Store(&deliver)
	defer h.deliverUpdate.Store(nil)
	work.Go(func() error { return in.r.maintainWebhook(ctx, backlogReceived) })
	return work.Wait()
}

// startTask runs a task that Run waits for, unless Run has ended.
func (in *acceptor) startTask(task func()) bool {
	in.tasksMu.Lock()
	defer in.tasksMu.Unlock()
	if in.ended {
		return false
	}
	in.tasks.Go(func() error { task(); return nil })
	return true
}

// awaitTasks waits for all tasks.
func (in *acceptor) awaitTasks() {
	in.tasksMu.Lock()
	in.ended = true
	in.tasksMu.Unlock()
	_ = in.tasks.Wait() // tasks log their own errors
}

// decodeUpdate decodes an update. It reports false for an undecodable update; its ID is 0 if it has
// none.
func (in *acceptor) decodeUpdate(raw json.RawMessage) (*updates.Update, bool) {
	u, err := updates.Decode(raw)
	switch {
	case u.ID == 0:
		in.r.o.Log.Error("update without an id skipped", zap.Int("bytes", len(raw)), zap.Error(err))
	case err != nil:
		in.r.o.Log.Error("undecodable update skipped", zap.Int64("id", u.ID), zap.Error(err))
	default:
		return u, true
	}
	return u, false
}

// prepareUpdate is called once for each update, in order, before acceptUpdate. It reports false if
// there is nothing to receive.
func (in *acceptor) prepareUpdate(ctx context.Context, u *updates.Update) bool {
	in.r.resolveChat(u)
	if u.CallbackQuery != nil {
		u.CallbackQuery.Response = make(chan string, 1)
		in.startTask(func() { in.r.answerCallbackQuery(ctx, u.CallbackQuery) })
		return u.CallbackQuery.Message != nil && u.CallbackQuery.Data != "" // otherwise the message is not the bot's
	}
	return u.Message != nil && !u.Message.IsEditOfState()
}

// acceptUpdate receives an update or makes it pending. When it returns nil, Telegram may forget the
// update. cursor returns the cursor to store with it.
func (in *acceptor) acceptUpdate(ctx context.Context, u *updates.Update, cursor func() string) error {
	m := u.Message
	if u.CallbackQuery == nil && m.Album() == "" && !in.r.identity.isForBot(m) && !in.pending.continues(u) &&
		!in.pending.followsAddressed(u) {
		if m.Unreadable() != "" && in.r.identity.isAddressed(m) {
			in.startTask(func() { in.r.refuseUnreadable(ctx, m) })
		}
		return in.r.saveIfMigrated(ctx, m)
	}
	q := in.pending.acquire(u.ChatID())
	defer in.pending.release(q)
	q.order.Lock()
	defer q.order.Unlock()
	if u.CallbackQuery == nil {
		in.pending.recordAddressed(u)
		m.JoinsNext = m.JoinsNext || in.mayIntroduce(u)
	}
	switch ignored, err := in.isUnknownEdit(ctx, q, u); {
	case ignored || err != nil:
		return err
	case u.CallbackQuery != nil:
		in.pending.supersede(q, u.CallbackQuery.From.ToUser())
		whole := in.r.newPress(ctx, u.CallbackQuery)
		whole.Cursor = cursor()
		if err := in.receive(ctx, whole); err != nil {
			return err
		}
		whole.Respond("") // unless the gateway has responded
		in.startTask(func() { in.r.removeButtons(ctx, u.CallbackQuery) })
		return nil
	case in.canReceiveNow(q, m):
		whole := in.r.newIncoming(ctx, []*updates.Message{m})
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
func (in *acceptor) isUnknownEdit(ctx context.Context, q *chatQueue, u *updates.Update) (bool, error) {
	if u.CallbackQuery != nil || !u.Message.IsEdit || in.pending.has(q, u.Message) {
		return false, nil
	}
	known, err := in.r.memory.Known(ctx, in.r.chat(q.name),
		in.r.identity.gatewayID(u.Message))
	return !known, err
}

// canReceiveNow reports whether a message can be received at once: it is complete, needs no
// download, and its chat has no pending messages. A menu command ends the wait for further parts,
// and overtakes messages whose files are being downloaded, so that /stop is not delayed.
func (in *acceptor) canReceiveNow(q *chatQueue, m *updates.Message) bool {
	if m.Album() != "" || m.HasFiles() || m.JoinsNext || m.MayContinue() {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimSpace(in.r.identity.contentText(m)), " ")
	if strings.HasPrefix(word, "/") && in.r.o.Menu.Has(word) && !m.IsEdit && m.Origin.Value == nil {
		return in.pending.supersede(q, m.Sender())
	}
	return !in.pending.hasPending(q)
}

// storePart makes an update durable and then pending.
func (in *acceptor) storePart(ctx context.Context, q *chatQueue, u *updates.Update, cursor func() string) error {
	p, err := in.pending.joinOrCreate(q, u, in.r.identity.prefix)
	if p == nil || err != nil {
		return err
	}
	part := in.r.newPart(u, in.r.identity.prefix, p.group)
	part.Cursor = cursor()
	err = in.receive(ctx, part)
	known := errors.Is(err, channels.ErrKnown) // a part of a message that was received before
	if known {
		err = nil
	}
	in.pending.endStoring(ctx, q, p, u, known, err)
	return err
}

// startPending starts the goroutine that completes a pending message, and for the first one of a
// chat the goroutine that receives the chat's messages.
func (in *acceptor) startPending(ctx context.Context, q *chatQueue, p *pendingMessage, isOnly bool) {
	in.tasks.Go(func() error { in.completeMessage(ctx, p); return nil })
	if isOnly {
		in.tasks.Go(func() error { in.drainQueue(ctx, q); return nil })
	}
}

// restorePending makes the parts that earlier runs have stored pending again.
func (in *acceptor) restorePending(ctx context.Context, parts []channels.Incoming) {
	foreign := 0
	var own []storedPart
	for _, part := range parts {
		if !in.r.identity.isOwnID(part.ID) {
			foreign++
			continue
		}
		u, ok := in.decodeUpdate(part.Raw)
		if !ok || u.Message == nil {
			continue
		}
		u.Message.SetOriginalChat(part.Chat.ID)
		own = append(own, storedPart{part.Chat.ID, part.Part.Group, u})
	}
	restored := in.pending.restore(ctx, own)
	if foreign > 0 {
		in.r.o.Log.Warn("messages to another bot are pending; they are received when its token is back",
			zap.Int("updates", foreign))
	}
	if restored > 0 {
		in.r.o.Log.Info("completing messages of an earlier run", zap.Int("messages", restored))
	}
}

// completeMessage waits until a message has all its parts, and builds the whole message.
func (in *acceptor) completeMessage(ctx context.Context, p *pendingMessage) {
	if !in.pending.awaitParts(ctx, p) {
		return
	}
	p.ignored = !p.follows && !slices.ContainsFunc(p.messages, in.r.identity.isForBot)
	if !p.ignored {
		p.whole = in.r.newIncoming(ctx, p.messages)
		p.whole.Part = &channels.Part{Group: p.group, Last: true}
	}
	if ctx.Err() == nil { // otherwise a file may be missing only because of the shutdown
		close(p.ready)
	}
}

// drainQueue receives the pending messages of a chat in order, until none is left or ctx ends.
func (in *acceptor) drainQueue(ctx context.Context, q *chatQueue) {
	defer in.pending.release(q)
	for p := in.pending.first(q); p != nil; p = in.pending.next(q) {
		select {
		case <-p.ready:
		case <-ctx.Done():
			return
		}
		if !in.retry(ctx, func() error { return in.receiveWhole(ctx, p) }) {
			return
		}
	}
}

// receiveWhole receives the whole message, which removes its parts.
func (in *acceptor) receiveWhole(ctx context.Context, p *pendingMessage) error {
	if !p.ignored {
		p.whole.Waited = time.Since(p.firstPartAt)
		return in.receive(ctx, p.whole)
	}
	if err := in.r.saveIfMigrated(ctx, p.messages...); err != nil {
		return err
	}
	return in.r.memory.DropParts(ctx, in.r.chat(p.messages[0].Address().String()), p.group)
}

// mayIntroduce reports whether a message waits for further ones that belong to it: it is a text
// that its sender has written in an idle chat, or it was joined to one. Apps send a comment and the
// messages that it introduces at once, but Telegram delivers them one by one. In a busy chat the
// gateway joins them. Not all messages can wait when very many arrive.
func (in *acceptor) mayIntroduce(u *updates.Update) bool {
	if in.pending.isHalfFull() || in.r.o.Timing.Comment < 0 {
		return false
	}
	m := u.Message
	return m.IsOwnText() && !strings.HasPrefix(in.r.identity.contentText(m), "/") &&
		in.r.memory.Idle(in.r.chat(u.ChatID())) ||
		m.Origin.Value != nil && in.pending.continues(u)
}

// retry calls do until it succeeds, and reports false if ctx ends first.
func (in *acceptor) retry(ctx context.Context, do func() error) bool {
	pause := httpclient.NewRetrier(zap.NewNop(), "", httpclient.FirstDelay)
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
			in.r.o.Log.Warn("message not received, will retry", zap.Duration("after", after), zap.Error(err))
		})
		if !httpclient.Sleep(ctx, after) {
			return false
		}
	}
	return false
}
