// Package notices tells people that their messages wait for a turn.
package notices

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/tasks"
	"nanobot/internal/words"
)

const (
	// delay is how long a message waits before its sender is told: mostly its turn comes
	// sooner.
	delay = 2 * time.Second
	// checkInterval is how often a shown notice is compared with the queue, for messages that leave
	// it without a turn, for example because an operator drops them.
	checkInterval = 10 * time.Second
	// maxNotices bounds the announced messages of a chat, for a flood of messages.
	maxNotices = 20
	// maxTries bounds the sends of a notice that the network refuses for the moment.
	maxTries = 5
	// maxWatched bounds the messages of an earlier run that are watched.
	maxWatched = 1000
)

// Store has the waiting messages.
type Store interface {
	Inbound(ctx context.Context, id int64) (store.Inbound, bool, error)
	Turns(ctx context.Context, f store.TurnFilter) ([]store.Inbound, error)
}

// Outbox shows and removes transient messages and reactions.
type Outbox interface {
	Show(ctx context.Context, t outbox.Transient) (id string, err error)
	Remove(t store.Transient)
	React(chat channels.Chat, id string, r channels.Reaction)
}

// Options configures Notices.
type Options struct {
	Channels map[string]channels.Channel
	Store    Store
	Outbox   Outbox
	Delay    time.Duration // before a waiting message is announced; 0: two seconds
	Words    *words.Catalogue
	Log      *zap.Logger
}

// Notices are the transient messages that tell people that their messages wait. They exist in
// memory and on the network only: after a restart the outbox removes them, and they are not sent
// again.
type Notices struct {
	o     Options
	tasks *tasks.Group

	mu    sync.Mutex
	chats map[channels.Chat]map[int64]chan struct{} // closed when the message may no longer wait
}

// New returns Notices, which show nothing before Run.
func New(o Options) *Notices {
	if o.Delay == 0 {
		o.Delay = delay
	}
	return &Notices{o: o, tasks: tasks.New(), chats: map[channels.Chat]map[int64]chan struct{}{}}
}

// hasRoom reports whether another message of a chat may be announced.
func (n *Notices) hasRoom(chat channels.Chat) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.chats[chat]) < maxNotices
}

// add registers a waiting message. changed is closed by the next recheck of its chat.
func (n *Notices) add(inbound store.Inbound) (changed <-chan struct{}) {
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

func (n *Notices) remove(inbound store.Inbound) {
	n.mu.Lock()
	defer n.mu.Unlock()
	chat := inbound.In.Chat
	if delete(n.chats[chat], inbound.ID); len(n.chats[chat]) == 0 {
		delete(n.chats, chat)
	}
}

// Recheck has the notices of a chat compared with its queue. It is called when a
// message has left the queue, and does not block.
func (n *Notices) Recheck(chat channels.Chat) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, changed := range n.chats[chat] {
		close(changed)
		delete(n.chats[chat], id) // the notice registers itself again if its message still waits
	}
}

// Announce tells the sender of a queued message that it waits: by a reaction where the
// channel has them, else by a silent notice if the message still waits after delay. A channel
// that cannot edit messages could not remove the notice, so there the sender is not told.
func (n *Notices) Announce(inbound store.Inbound) {
	if !n.hasRoom(inbound.In.Chat) {
		return
	}
	it := &notice{Notices: n, inbound: inbound}
	task := it.run
	if it.react(channels.Taken) {
		task = it.awaitEnd
	}
	it.changed = n.add(inbound)
	n.tasks.Go(task)
}

// watchWaiting has the reactions of the messages cleared that wait since an earlier run, if they
// leave the queue without a turn.
func (n *Notices) watchWaiting(ctx context.Context) error {
	waiting, err := n.o.Store.Turns(ctx, store.TurnFilter{Outcome: string(store.Pending), Limit: maxWatched})
	if err != nil {
		return fmt.Errorf("read waiting messages: %w", err)
	}
	for _, inbound := range waiting {
		it := &notice{Notices: n, inbound: inbound}
		if it.usesReactions() && n.hasRoom(inbound.In.Chat) {
			it.changed = n.add(inbound)
			n.tasks.Go(it.awaitEnd)
		}
	}
	return nil
}

// notice tells a person that a message waits.
type notice struct {
	*Notices
	inbound store.Inbound
	changed <-chan struct{} // closed when the message may no longer wait
	id      string          // the network's ID of the notice; "": it is not shown
}

// run shows the notice, unless the message leaves the queue before, and removes it when the message
// no longer waits.
func (n *notice) run(ctx context.Context) {
	defer n.remove(n.inbound)
	pause := n.o.Delay
	for range maxTries {
		if !n.waitsFor(ctx, pause) {
			return
		}
		err := n.show(ctx)
		if err == nil {
			break
		}
		n.o.Log.Debug("notice not shown", zap.Stringer("chat", n.inbound.In.Chat), zap.Error(err))
		var se *channels.SendError
		if pause = outbox.RetryAfter(err); pause == 0 || errors.As(err, &se) && se.Unknown {
			break // it may be shown, and nothing could remove a second one
		}
	}
	n.awaitEnd(ctx)
}

// awaitEnd waits until the message no longer waits, and removes the notice. After the end of ctx,
// the next start of the gateway removes it.
func (n *notice) awaitEnd(ctx context.Context) {
	defer n.remove(n.inbound)
	for n.waitsFor(ctx, checkInterval) {
	}
	if ctx.Err() == nil && n.id != "" {
		n.o.Outbox.Remove(store.Transient{Chat: n.inbound.In.Chat, ID: n.id, Inbound: n.inbound.ID})
	}
}

// waitsFor reports whether the message still waits after the given time. It returns false as soon
// as the message no longer waits, and when ctx has ended.
func (n *notice) waitsFor(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for over := false; ; {
		select {
		case <-n.changed:
			n.changed = n.add(n.inbound) // before the queue is read, so that no change is missed
		case <-timer.C:
			over = true
		case <-ctx.Done():
			return false
		}
		now, found, err := n.o.Store.Inbound(ctx, n.inbound.ID)
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			n.o.Log.Warn("message not read for a notice", zap.Stringer("chat", n.inbound.In.Chat), zap.Error(err))
		case !found || now.State != store.Pending:
			if leftWithoutTurn(now) {
				n.react(channels.NoReaction)
			}
			return false
		}
		if over {
			return true
		}
	}
}

// leftWithoutTurn reports whether a message that no longer waits was dropped, or was read by the
// turn of another message. A turn shows its end as a reaction itself.
func leftWithoutTurn(inbound store.Inbound) bool {
	return inbound.State == store.Dead || inbound.State == store.Done && inbound.Attempt == 0
}

// show sends the notice.
func (n *notice) show(ctx context.Context) error {
	in := n.inbound.In
	ch := n.o.Channels[in.Chat.Channel]
	if _, ok := ch.(channels.Editor); !ok { // the notice could not be removed
		return nil
	}
	// The text has no number: messages before it may leave the queue, and each edit would take the
	// place of an answer in the network's rate limit.
	w := n.o.Words.For(in.User.Language)
	parts, err := ch.Plan(channels.Message{
		Chat: in.Chat, Kind: channels.Progress, Text: w.Text(words.Queued), ReplyTo: in.ID, Language: in.User.Language,
		Buttons:      []channels.Button{{Label: w.Text(words.ButtonCancel), Data: press.Cancel(n.inbound.ID)}},
		Notification: channels.Notification{Silent: true},
	})
	if err != nil || len(parts) == 0 {
		return err
	}
	n.id, err = n.o.Outbox.Show(ctx, outbox.Transient{Inbound: n.inbound.ID, Out: parts[0], Repeat: true})
	return err
}

// react shows a reaction to the message. It reports false if the channel does not use reactions in
// the chat.
func (n *notice) react(reaction channels.Reaction) bool {
	ok := n.usesReactions()
	if ok {
		n.o.Outbox.React(n.inbound.In.Chat, n.inbound.In.ID, reaction)
	}
	return ok
}

// usesReactions reports whether the channel of the message uses reactions in the chat. There is no
// message to react to if a button was pressed.
func (n *notice) usesReactions() bool {
	in := n.inbound.In
	r, ok := n.o.Channels[in.Chat.Channel].(channels.Reactor)
	return ok && in.ID != "" && in.Press == "" && !in.Pressed && r.Reacts(in.Chat)
}

// Run shows the notices of waiting messages until ctx ends.
func (n *Notices) Run(ctx context.Context) {
	if err := n.watchWaiting(ctx); err != nil && ctx.Err() == nil {
		n.o.Log.Warn("reactions of an earlier run may stay", zap.Error(err))
	}
	n.tasks.Run(ctx)
}
