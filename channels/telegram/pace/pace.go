// Package pace keeps the calls of one bot within Telegram's rate limits. It knows nothing of what
// the calls send.
package pace

import (
	"context"
	"fmt"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

const (
	sweepInterval = 2 * time.Minute
	maxPause      = 5 * time.Second
)

// Pacer delays calls to stay within Telegram's rate limits: about 30 calls a second in all, and
// about one message or edit a second in a chat, with short bursts, and 20 in any minute in a group.
// Answers wait for the next free place of each limit, in the order of their arrival. Other messages
// are refused until the limits have more room than the next answers need, so that an answer waits
// only for other answers. The limits of an idle chat are removed.
type Pacer struct {
	unpaced bool

	mu      sync.Mutex
	overall overall
	chats   map[int64]*chatLimits
	sweptAt time.Time
}

// Class says how a call that sends or edits messages is paced.
type Class struct {
	Topic     int  // of the chat
	Edit      bool // it is also blocked when Telegram has asked to wait with edits
	Transient bool // it gives way to answers, and to messages that give way
	Last      bool // of a Transient edit: no other one of the message follows
	GivesWay  bool // it gives way to answers
	Waits     bool // it waits until it does not have to give way, instead of being refused
}

// New returns a pacer. off turns off the limits, except the waits that Telegram asks for.
func New(off bool) *Pacer {
	return &Pacer{unpaced: off, overall: newOverall(), chats: map[int64]*chatLimits{}}
}

// Wait waits until a call that sends or edits a message, or an album of n items, is within the
// limits of its chat. The caller calls returned when Telegram has answered. Wait returns an error
// instead if the chat is blocked for long, if less time would be left for the call than was spent
// waiting, or if the call has to give way.
func (p *Pacer) Wait(ctx context.Context, chat int64, n int, class Class) (returned func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropIdleChats(time.Now())
	c := p.limitsOf(chat)
	w := c.enqueue(class)
	if err := p.waitInQueue(ctx, chat, c, w, n); err != nil {
		return nil, err
	}
	s := c.admit(w, time.Now(), n)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		c.end(s, time.Now())
		c.notify()
	}, nil
}

// waitInQueue waits until a waiter has room after all that wait before it. It unlocks mu meanwhile.
func (p *Pacer) waitInQueue(ctx context.Context, chat int64, c *chatLimits, w *waiter, n int) error {
	for arrives := true; ; arrives = false {
		now := time.Now()
		blocked, wait := c.blockedFor(now, w.class.Edit), time.Duration(0)
		if !p.unpaced {
			wait = c.roomIn(now, w, n)
		}
		if w.kind != answer && !p.unpaced {
			wait = max(wait, p.overall.spareIn(now, n+overallReserve(w.class)))
		}
		deadline, limited := ctx.Deadline()
		switch {
		case !w.class.Waits && (blocked > maxPause || blocked > 0 && w.kind != answer):
			c.dequeue(w)
			return &channels.SendError{Err: fmt.Errorf("chat %d was sent too much", chat), After: blocked}
		case !w.class.Waits && w.kind != answer && wait > 0:
			return &channels.SendError{Err: errGivesWay, After: c.refuse(w, now, wait)}
		case blocked == 0 && wait == 0:
			return nil
		case !w.class.Waits && arrives && limited && max(blocked, wait) > deadline.Sub(now)/2:
			return &channels.SendError{Err: channels.ErrBusy, After: c.refuse(w, now, max(blocked, wait, time.Second))}
		}
		if !p.sleep(ctx, max(blocked, wait), c.changed) {
			c.dequeue(w)
			return ctx.Err()
		}
	}
}

// sleep unlocks mu for a time, or until something has changed. It reports false if ctx has ended.
func (p *Pacer) sleep(ctx context.Context, d time.Duration, changed <-chan struct{}) bool {
	p.mu.Unlock()
	defer p.mu.Lock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// errGivesWay refuses a message while the limits have room for answers only.
var errGivesWay = fmt.Errorf("the rate limit is left to answers: %w", channels.ErrBusy)

// overallReserve is how many tokens of the overall limit a message leaves.
func overallReserve(class Class) int {
	if class.Transient && class.Edit {
		return editReserve
	}
	return answerReserve
}

// ExpectAnswer says that a turn is running in a topic of a group, so that an answer will come. It
// is called every few seconds as long as that is so.
func (p *Pacer) ExpectAnswer(chat int64, topic int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.limitsOf(chat); c.isGroup {
		c.running[topic] = time.Now()
	}
}

// WaitOverall waits until a call is within the limit of all calls together, where an album counts
// as its n messages. The caller calls returned when Telegram has answered. It waits just before the
// call, so that calls that have waited for their chats do not start at once.
func (p *Pacer) WaitOverall(ctx context.Context, n int) (returned func(), err error) {
	if p.unpaced {
		return func() {}, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.overall.enqueue(time.Now(), n)
	for arrives := true; ; arrives = false {
		now := time.Now()
		wait := p.overall.admitIn(now, s)
		deadline, limited := ctx.Deadline()
		switch {
		case wait == 0:
			return func() { p.mu.Lock(); defer p.mu.Unlock(); p.overall.end(s, time.Now()) }, nil
		case limited && (arrives && wait > deadline.Sub(now)/2 || wait >= deadline.Sub(now)):
			err = &channels.SendError{Err: channels.ErrBusy, After: max(wait, time.Second)}
		case !p.sleep(ctx, wait, p.overall.left):
			err = ctx.Err()
		}
		if err != nil {
			p.overall.removeWaiting(s)
			return nil, err
		}
	}
}

const (
	// maxDeletionDelay and maxReactionDelay are how long deletions and reactions give way to other
	// calls. A message whose Stop button stops nothing is deleted 1.75 s after its turn at the
	// latest, and should be gone after two seconds.
	maxDeletionDelay, maxReactionDelay = 200 * time.Millisecond, 5 * time.Second
	// maxMenuDelay is how long a menu gives way to other calls.
	maxMenuDelay = time.Minute
)

// Spare is a class of calls that send no message. They count only towards the limit of all calls
// together, and give way to all others.
type Spare struct {
	tokens   int // of the limit that are left when such a call is made
	maxDelay time.Duration
	counts   bool // the wait counts as a call itself, so that of several that wait one is made at a time
}

var (
	// Deletion are deletions of messages.
	Deletion = Spare{tokens: 1 + cleanupReserve, maxDelay: maxDeletionDelay}
	// Reaction are reactions and chat actions.
	Reaction = Spare{tokens: 1 + cleanupReserve, maxDelay: maxReactionDelay}
	// Menu are menus, which are set when no call was made for a while.
	Menu = Spare{tokens: spareBurst, maxDelay: maxMenuDelay, counts: true}
)

// SpareIn returns how long calls of a class have to give way.
func (p *Pacer) SpareIn(s Spare) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := p.overall.spareIn(time.Now(), s.tokens)
	switch {
	case p.unpaced:
		return 0
	case wait == 0 && s.counts:
		p.overall.spare.AllowN(time.Now(), 1)
	}
	return wait
}

// GiveWay waits until no other call needs the rate limit, or the call has given way for long. It
// returns an error if ctx ends, or the chat is blocked; 0: the call counts towards no chat.
func (p *Pacer) GiveWay(ctx context.Context, chat int64, s Spare) error {
	since := time.Now()
	for wait := p.SpareIn(s); wait > 0 && time.Since(since) < s.maxDelay; wait = p.SpareIn(s) {
		if !httpclient.Sleep(ctx, wait) {
			return &channels.SendError{Err: ctx.Err(), After: wait}
		}
	}
	if blocked := p.BlockedFor(chat); blocked > 0 {
		return &channels.SendError{Err: fmt.Errorf("chat %d was sent too much", chat), After: blocked}
	}
	return nil
}

func (p *Pacer) limitsOf(id int64) *chatLimits {
	c := p.chats[id]
	if c == nil {
		c = newChatLimits(id < 0)
		p.chats[id] = c
	}
	return c
}

func (p *Pacer) dropIdleChats(now time.Time) {
	if now.Sub(p.sweptAt) < sweepInterval {
		return
	}
	p.sweptAt = now
	for id, c := range p.chats {
		if c.isIdle(now) {
			delete(p.chats, id)
		}
	}
}

// Block blocks a chat for as long as Telegram has asked. Edits are blocked separately.
func (p *Pacer) Block(chat int64, d time.Duration, edit bool) {
	if d <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limitsOf(chat).block(time.Now(), d, edit)
	p.overall.learn(time.Now(), chat)
}

// BlockedFor returns how long Telegram has asked to wait with a chat.
func (p *Pacer) BlockedFor(chat int64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.chats[chat]
	if c == nil {
		return 0
	}
	return c.blockedFor(time.Now(), false)
}
