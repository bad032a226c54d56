package intake

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/internal/tasks"
)

const (
	// noticeDelay is how long a message waits before its sender is told: mostly its turn comes
	// sooner.
	noticeDelay = 2 * time.Second
	// noticeCheck is how often a shown notice is compared with the queue, for messages that leave
	// it without a turn, for example because an operator drops them.
	noticeCheck = 10 * time.Second
	// maxNotices bounds the announced messages of a chat, for a flood of messages.
	maxNotices = 20
	// maxNoticeTries bounds the sends of a notice that the network refuses for the moment.
	maxNoticeTries = 5
)

// notices are the transient messages that tell people that their messages wait. They exist in
// memory and on the network only: after a restart the outbox removes them, and they are not sent
// again.
type notices struct {
	tasks *tasks.Group

	mu    sync.Mutex
	chats map[channels.Chat]map[int64]chan struct{} // closed when the message may no longer wait
}

func newNotices() *notices {
	return &notices{tasks: tasks.New(), chats: map[channels.Chat]map[int64]chan struct{}{}}
}

// hasRoom reports whether another message of a chat may be announced.
func (n *notices) hasRoom(chat channels.Chat) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.chats[chat]) < maxNotices
}

// add registers a waiting message. changed is closed by the next recheck of its chat.
func (n *notices) add(inbound store.Inbound) (changed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	chat := inbound.In.Chat
	if n.chats[chat] == nil {
		n.chats[chat] = map[int64]chan struct{}{}
	}
	c := make(chan struct{})
	n.chats[chat][inbound.ID] = c
	return c
}

func (n *notices) remove(inbound store.Inbound) {
	n.mu.Lock()
	defer n.mu.Unlock()
	chat := inbound.In.Chat
	if delete(n.chats[chat], inbound.ID); len(n.chats[chat]) == 0 {
		delete(n.chats, chat)
	}
}

// recheck has the notices of a chat compared with its queue.
func (n *notices) recheck(chat channels.Chat) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, changed := range n.chats[chat] {
		close(changed)
		delete(n.chats[chat], id) // the notice registers itself again if its message still waits
	}
}

// TurnBegins is called when the turn of a message is created, whose notice then disappears. It does
// not block.
func (i *Intake) TurnBegins(chat channels.Chat) { i.notices.recheck(chat) }

// announceWaiting tells the sender of a queued message that it waits: by a reaction where the
// channel has them, else by a silent notice if the message still waits after noticeDelay.
func (i *Intake) announceWaiting(inbound store.Inbound) {
	n := &notice{i: i, inbound: inbound}
	task := n.run
	if n.react(channels.Taken) {
		task = n.awaitEnd
	}
	if i.notices.hasRoom(inbound.In.Chat) {
		n.changed = i.notices.add(inbound)
		i.notices.tasks.Go(task)
	}
}

// notice tells a person that a message waits.
type notice struct {
	i       *Intake
	inbound store.Inbound
	changed <-chan struct{} // closed when the message may no longer wait
	id      string          // the network's ID of the notice; "": it is not shown
}

// run shows the notice, unless the message leaves the queue before, and removes it when the message
// no longer waits.
func (n *notice) run(ctx context.Context) {
	defer n.i.notices.remove(n.inbound)
	delay := n.i.o.NoticeDelay
	if delay == 0 {
		delay = noticeDelay
	}
	for range maxNoticeTries {
		place := n.awaitPlace(ctx, delay)
		if place == 0 {
			return
		}
		err := n.show(ctx, place)
		if err == nil {
			break
		}
		n.i.o.Log.Debug("notice not shown", zap.Stringer("chat", n.inbound.In.Chat), zap.Error(err))
		if delay = outbox.RetryAfter(err); delay == 0 {
			break
		}
	}
	n.awaitEnd(ctx)
}

// awaitEnd waits until the message no longer waits, and removes the notice. After the end of ctx,
// the next start of the gateway removes it.
func (n *notice) awaitEnd(ctx context.Context) {
	defer n.i.notices.remove(n.inbound)
	for n.awaitPlace(ctx, noticeCheck) != 0 {
	}
	if ctx.Err() == nil && n.id != "" {
		n.i.o.Outbox.Remove(store.Transient{Chat: n.inbound.In.Chat, ID: n.id, Inbound: n.inbound.ID})
	}
}

// awaitPlace returns the message's place in the queue after the given time. It returns 0 as soon as
// the message no longer waits, and when ctx has ended.
func (n *notice) awaitPlace(ctx context.Context, wait time.Duration) int {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for over := false; ; {
		select {
		case <-n.changed:
			n.changed = n.i.notices.add(n.inbound) // before the queue is read, so that no change is missed
		case <-timer.C:
			over = true
		case <-ctx.Done():
			return 0
		}
		place, err := n.i.placeInQueue(ctx, n.inbound)
		if err != nil && ctx.Err() == nil {
			n.i.o.Log.Warn("queue not read for a notice", zap.Stringer("chat", n.inbound.In.Chat), zap.Error(err))
			place = 1
		}
		switch {
		case place == 0:
			n.clearReaction(ctx)
			return 0
		case over:
			return place
		}
	}
}

// placeInQueue returns the place of a message in its chat's queue, from 1; 0: it does not wait.
func (i *Intake) placeInQueue(ctx context.Context, inbound store.Inbound) (int, error) {
	queue, err := i.o.Store.Queue(ctx, inbound.In.Chat, maxOffered)
	if err != nil {
		return 0, fmt.Errorf("read queue: %w", err)
	}
	return 1 + slices.IndexFunc(queue, func(q store.Inbound) bool { return q.ID == inbound.ID }), nil
}

// show sends the notice.
func (n *notice) show(ctx context.Context, place int) error {
	in := n.inbound.In
	ch := n.i.o.Channels[in.Chat.Channel]
	if _, ok := ch.(channels.Editor); !ok { // the notice could not be removed
		return nil
	}
	parts, err := ch.Plan(channels.Message{
		Chat: in.Chat, Kind: channels.Progress, Text: fmt.Sprintf("Queued, number %d in line.", place), ReplyTo: in.ID,
		Buttons:      []channels.Button{{Label: "Cancel", Data: fmt.Sprintf("cancel:%d", n.inbound.ID)}},
		Notification: channels.Notification{Silent: true},
	})
	if err != nil || len(parts) == 0 {
		return err
	}
	n.id, err = n.i.o.Outbox.Show(ctx, outbox.Transient{Inbound: n.inbound.ID, Out: parts[0]})
	return err
}

// react shows a reaction to the message. It reports false if the channel does not use reactions in
// the chat.
func (n *notice) react(reaction channels.Reaction) bool {
	in := n.inbound.In
	r, ok := n.i.o.Channels[in.Chat.Channel].(channels.Reactor)
	if !ok || in.ID == "" || !r.Reacts(in.Chat) {
		return false
	}
	n.i.o.Outbox.React(in.Chat, in.ID, reaction)
	return true
}

// clearReaction removes the reaction of a message that has left the queue without a turn.
func (n *notice) clearReaction(ctx context.Context) {
	now, found, err := n.i.o.Store.Inbound(ctx, n.inbound.ID)
	if err == nil && found && now.State == store.Dead {
		n.react(channels.NoReaction)
	}
}

// RunNotices shows the notices of waiting messages until ctx ends.
func (i *Intake) RunNotices(ctx context.Context) { i.notices.tasks.Run(ctx) }
