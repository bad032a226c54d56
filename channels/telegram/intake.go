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

// intake hands on what Telegram delivers during one Run: in order within a chat, chats side by
// side.
//
// A message that is complete and has nothing before it in its chat is received at once. Any other
// becomes pending: an album, a message whose files are to be downloaded, a message that could not
// be received at the first attempt, and whatever follows these in their chat. Each update of a
// pending message is received as a part, which makes it durable, so that Telegram can forget it;
// when the message is complete, it is received whole.
type intake struct {
	c       *Channel
	receive channels.Receive
	tasks   errgroup.Group // what Run waits for; see begin
	trouble complaints
	refused complaints // of deliveries to the webhook

	mu      sync.Mutex
	ended   bool // no task begins any more
	chats   map[string]*chatQueue
	pending int       // in all chats
	polled  time.Time // when the poll came whose updates are being accepted; zero: there is none
}

// chatQueue is what is pending of one chat. All but order is protected by intake.mu.
type chatQueue struct {
	name    string
	order   sync.Mutex // held while an update is accepted, so that the next one comes behind it
	users   int        // goroutines that need the queue
	pending []*pending
}

// Limits of the pending messages of all chats together; beyond them Telegram keeps the rest. By
// webhook, texts of chats that have nothing pending are still received; a poll is stopped for all.
const webhookLimit, pollLimit = 250, 5000

func newIntake(c *Channel, receive channels.Receive) *intake {
	c.stored.set(nil)
	return &intake{c: c, receive: receive, chats: map[string]*chatQueue{}, trouble: complaints{well: &c.stored}}
}

// begin runs a task that Run waits for, unless Run has ended.
func (in *intake) begin(task func()) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return false
	}
	in.tasks.Go(func() error { task(); return nil })
	return true
}

// end waits for all tasks.
func (in *intake) end() {
	in.mu.Lock()
	in.ended = true
	in.mu.Unlock()
	_ = in.tasks.Wait() // tasks log their own errors
}

// decode reads an update. It reports false for one that is skipped; its id is 0 if it has none.
func (in *intake) decode(raw json.RawMessage) (*update, bool) {
	u := &update{raw: raw}
	err := json.Unmarshal(raw, u) // what fits is decoded even if something else does not
	switch {
	case u.ID == 0:
		in.c.log.Error("update without an id skipped", zap.Int("bytes", len(raw)), zap.Error(err))
	case err != nil:
		in.c.log.Error("undecodable update skipped", zap.Int64("id", u.ID), zap.Error(err))
	default:
		return u, true
	}
	return u, false
}

// prepare is called once for each update that is delivered, in their order, before accept. It
// reports false if there is nothing to hand on.
func (in *intake) prepare(ctx context.Context, u *update) bool {
	in.c.moves.locate(u)
	if u.Press != nil {
		in.begin(func() { in.c.acknowledge(ctx, u.Press) })
		return u.Press.Message != nil && u.Press.Data != "" // otherwise the message is not ours
	}
	return u.Message != nil
}

// accept takes an update in. When it returns nil, Telegram may forget the update. cursor returns
// what is stored with it.
func (in *intake) accept(ctx context.Context, u *update, cursor func() string) error {
	m := u.Message
	if u.Press == nil && m.Group == "" && !in.c.forUs(m) {
		return in.c.moves.save(ctx, in.c.memory, m)
	}
	q := in.use(u.chat())
	defer in.leave(q)
	q.order.Lock()
	defer q.order.Unlock()
	switch {
	case u.Press != nil:
		whole := pressed(u.Press)
		whole.Cursor = cursor()
		if err := in.receive(ctx, whole); err != nil {
			return err
		}
		in.begin(func() { in.c.removeButtons(ctx, u.Press) })
		return nil
	case in.isFree(q, m):
		whole := in.c.incoming(ctx, []*message{m})
		whole.Cursor = cursor()
		if err := in.receive(ctx, whole); err == nil || ctx.Err() != nil {
			return err
		}
		// A poll waits for all its updates, so retrying here would stop every other chat. Stored as
		// a part, the message is retried by the goroutine of its own chat.
	}
	return in.gather(ctx, q, u, cursor)
}

// isFree tells whether a message can be received at once: it is complete, needs no download, and
// nothing of its chat is pending. One of our commands overtakes what is pending: Stop must not come
// when it is too late.
func (in *intake) isFree(q *chatQueue, m *message) bool {
	if m.Group != "" || m.hasFiles() {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimSpace(in.c.spoken(m)), " ")
	if strings.HasPrefix(word, "/") && in.c.known(word) {
		return true
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(q.pending) == 0
}

// gather makes an update pending once it is durable.
func (in *intake) gather(ctx context.Context, q *chatQueue, u *update, cursor func() string) error {
	p, err := in.reserve(q, u)
	if p == nil || err != nil {
		return err
	}
	part := in.c.part(u, in.c.prefix, p.group)
	part.Cursor = cursor()
	// The parts of a message that was received are no message of their own.
	known, err := in.c.memory.Known(ctx, part.Chat, part.ID)
	if err == nil && !known {
		err = in.receive(ctx, part)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	p.joining--
	if err == nil && !known {
		in.add(ctx, q, p, u)
	} else if len(p.messages) == 0 {
		in.pending--
	} else if err != nil && in.c.hook != nil {
		in.awaitResend(p)
	}
	p.wake()
	return err
}

// reserve finds the album that an update is part of, or makes a new pending message. It returns nil
// for an update that is pending already.
func (in *intake) reserve(q *chatQueue, u *update) (*pending, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range q.pending {
		if slices.Contains(p.updates, u.ID) {
			return nil, nil
		}
	}
	for _, p := range q.pending {
		if p.takes(u.Message) {
			p.joining++
			return p, nil
		}
	}
	if limit := in.limit(); in.pending >= limit {
		in.wakeOpen()
		return nil, fmt.Errorf("%d messages are pending already", limit)
	}
	in.pending++
	p := newPending(in.c.messageName(u.Message))
	p.joining++
	return p, nil
}

func (in *intake) limit() int {
	if in.c.hook == nil {
		return pollLimit
	}
	return webhookLimit
}

// add puts an update that is durable into its pending message. The caller holds intake.mu.
func (in *intake) add(ctx context.Context, q *chatQueue, p *pending, u *update) {
	p.updates, p.messages = append(p.updates, u.ID), append(p.messages, u.Message)
	p.touched, p.awaits, p.deadline = time.Now(), false, time.Time{}
	if len(p.messages) > 1 {
		return
	}
	q.pending = append(q.pending, p)
	in.tasks.Go(func() error { in.complete(ctx, p); return nil })
	if len(q.pending) == 1 {
		q.users++
		in.tasks.Go(func() error { in.drain(ctx, q); return nil })
	}
}

// use returns the queue of a chat, which stays in chats until leave is called, and as long as
// something of the chat is pending.
func (in *intake) use(chat string) *chatQueue {
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

func (in *intake) leave(q *chatQueue) {
	in.mu.Lock()
	defer in.mu.Unlock()
	q.users--
	// When Run ends, the goroutine of the chat leaves messages pending. An update that is accepted
	// after that must still find them, or it would be received before them.
	if q.users == 0 && len(q.pending) == 0 {
		delete(in.chats, q.name)
	}
}

// restore makes pending again what earlier runs have gathered.
func (in *intake) restore(ctx context.Context, parts []channels.Incoming) {
	in.mu.Lock()
	defer in.mu.Unlock()
	foreign, groups := 0, map[string]*pending{}
	for _, part := range parts {
		if !in.c.ours(part.ID) {
			foreign++
			continue
		}
		u, ok := in.decode(part.Raw)
		if !ok || u.Message == nil {
			continue
		}
		u.Message.setHome(part.Chat.ID)
		q := in.chats[part.Chat.ID]
		if q == nil {
			q = &chatQueue{name: part.Chat.ID}
			in.chats[part.Chat.ID] = q
		}
		key := part.Chat.ID + " " + part.Part.Group
		p := groups[key]
		if p == nil {
			p = newPending(part.Part.Group)
			groups[key] = p
			in.pending++
		}
		in.add(ctx, q, p, u)
		p.awaits = u.Message.Group != ""
	}
	if foreign > 0 {
		in.c.log.Warn("messages to another bot are pending; they are received when its token is back", zap.Int("updates", foreign))
	}
	if len(groups) > 0 {
		in.c.log.Info("completing messages of an earlier run", zap.Int("messages", len(groups)))
	}
}

// complaints log why updates are not received. Many chats may be in trouble for one reason: only
// the first of them logs, until it is over.
type complaints struct {
	mu      sync.Mutex
	speaker any
	last    string
	well    *health // nil, or how the first of them fares
}

// log logs an error of who is in trouble if it is news.
func (c *complaints) log(who any, err error, log func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.speaker == nil {
		c.speaker = who
	}
	if c.speaker != who {
		return
	}
	if c.well != nil {
		c.well.set(err)
	}
	if c.last != err.Error() {
		c.last = err.Error()
		log()
	}
}

// over ends the trouble of who was in it.
func (c *complaints) over(who any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.speaker == who {
		c.speaker, c.last = nil, ""
		if c.well != nil {
			c.well.set(nil)
		}
	}
}

// insist does something until it succeeds, and reports false if ctx ends before.
func (in *intake) insist(ctx context.Context, do func() error) bool {
	pause := newRetrier(zap.NewNop(), "")
	for ctx.Err() == nil {
		err := do()
		if err == nil {
			in.trouble.over(pause)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		after := pause.Next(err)
		in.trouble.log(pause, err, func() {
			in.c.log.Warn("message not received, will retry", zap.Duration("after", after), zap.Error(err))
		})
		if !httpclient.Sleep(ctx, after) {
			return false
		}
	}
	return false
}
