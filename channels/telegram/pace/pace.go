// Package pace keeps the calls of one bot within Telegram's rate limits. It knows nothing of what
// the calls send.
package pace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

// Telegram lets a bot make about 30 calls a second in all, and send or edit about one message a
// second in a chat, with short bursts, and 20 a minute in a group. A token bucket lets its burst
// and what flows into it pass in any period; these leave some room below the limits, because calls
// do not arrive as evenly as they are made.
const (
	overallRate  = 20
	overallBurst = 5
	chatBurst    = 3
	groupEvery   = 4100 * time.Millisecond
	groupBurst   = 5
	chatIdleTime = 2 * time.Minute
	maxPause     = 5 * time.Second
	maxSpareWait = 30 * time.Second
)

const (
	// answerReserve is how many tokens of each limit a transient message leaves for the next
	// answer, and groupReserve the same for the limit of a group, where several topics may be
	// answered at once.
	answerReserve, groupReserve = 1, 2
	// editReserve is how many tokens of the overall limit the edit of a transient message leaves:
	// one more, for the first transient message of another chat.
	editReserve = answerReserve + 1
	// cleanupReserve is how many tokens of the overall limit deletions, reactions and chat actions
	// leave, for an answer and a transient message.
	cleanupReserve = 2
)

// Pacer delays calls to stay within Telegram's rate limits. Answers reserve the next free place of
// each limit. Transient messages never do: they are refused until the limits have more tokens than
// the next answer needs, so that an answer waits only for other answers. The limits of an idle chat
// are removed once they are full again.
type Pacer struct {
	unpaced bool

	mu      sync.Mutex
	overall *rate.Limiter
	chats   map[int64]*chatLimits
	sweptAt time.Time
}

type chatLimits struct {
	limiters          []*rate.Limiter
	nextSpare         time.Time // the latest time that a transient message was told to come back
	usedAt            time.Time
	blockedUntil      time.Time // no call before: Telegram has asked to wait
	editsBlockedUntil time.Time // the same for edits, which must not delay an answer
}

// Class says how a call that sends or edits messages is paced.
type Class struct {
	Edit      bool // it is also blocked when Telegram has asked to wait with edits
	Transient bool // it gives way to answers, and to messages that give way
	GivesWay  bool // it gives way to answers
}

// New returns a pacer. off turns off the limits, except the waits that Telegram asks for.
func New(off bool) *Pacer {
	return &Pacer{unpaced: off, overall: rate.NewLimiter(overallRate, overallBurst), chats: map[int64]*chatLimits{}}
}

// Wait waits until a call that sends or edits n messages of a chat is within the limits of the
// chat. It returns an error instead if the chat is blocked for long, if less time would be left for
// the call than was spent waiting, or if a transient message has to give way.
func (p *Pacer) Wait(ctx context.Context, chat int64, n int, class Class) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	delay, err := p.reserve(ctx, chat, n, class)
	if err == nil && delay > 0 && !httpclient.Sleep(ctx, delay) {
		return ctx.Err()
	}
	return err
}

// WaitForSpare waits until a transient call of a chat does not have to give way.
func (p *Pacer) WaitForSpare(ctx context.Context, chat int64, class Class) error {
	for {
		err := p.Wait(ctx, chat, 1, class)
		var se *channels.SendError
		if !errors.As(err, &se) || !httpclient.Sleep(ctx, se.After) {
			return err
		}
	}
}

// reserve reserves a chat's next call and returns how long to wait for it.
func (p *Pacer) reserve(ctx context.Context, id int64, n int, class Class) (delay time.Duration, err error) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropIdleChats(now)
	chat := p.limitsOf(id)
	chat.usedAt = now
	blocked := max(chat.blockedUntil.Sub(now), 0)
	if class.Edit {
		blocked = max(chat.editsBlockedUntil.Sub(now), blocked)
	}
	switch {
	case blocked > maxPause, blocked > 0 && (class.Transient || class.GivesWay):
		return 0, &channels.SendError{Err: fmt.Errorf("chat %d was sent too much", id), After: blocked}
	case p.unpaced:
		return blocked, nil
	case class.Transient:
		reserve := answerReserve
		if class.Edit {
			reserve = editReserve
		}
		if wait := max(chat.spareIn(now, n, groupReserve), delayOf(p.overall, now, n+reserve)); wait > 0 {
			return 0, &channels.SendError{Err: errGivesWay, After: chat.nextSpareIn(now, wait)}
		}
	case class.GivesWay: // it needs fewer tokens than a transient message, which would take them all otherwise
		if wait := max(chat.spareIn(now, n, answerReserve), delayOf(p.overall, now, n+answerReserve)); wait > 0 {
			return 0, &channels.SendError{Err: errGivesWay, After: wait}
		}
	}
	delay, err = reserveWithin(ctx, now, blocked, n, chat.limiters...)
	return blocked + delay, err
}

// errGivesWay refuses a transient message while the limits have tokens for answers only.
var errGivesWay = errors.New("the rate limit is left to answers")

// spareIn returns how long it takes until the limits of a chat have n tokens beyond the reserve,
// which is inGroup for the limit of a group. It reserves nothing.
func (c *chatLimits) spareIn(now time.Time, n, inGroup int) (wait time.Duration) {
	for i, l := range c.limiters {
		reserve := answerReserve
		if i > 0 {
			reserve = inGroup
		}
		wait = max(wait, delayOf(l, now, n+reserve))
	}
	return wait
}

// nextSpareIn returns when a transient message that has to wait should come back. In a group each
// is told another time, since otherwise the boards of its topics would come back together, and one
// of them could get all the spare tokens.
func (c *chatLimits) nextSpareIn(now time.Time, wait time.Duration) time.Duration {
	if len(c.limiters) == 1 {
		return wait
	}
	at := now.Add(wait)
	if later := c.nextSpare.Add(groupEvery); later.After(at) && later.Sub(now) <= maxSpareWait {
		at = later
	}
	c.nextSpare = at
	return at.Sub(now)
}

// WaitOverall waits until a call is within the limit of all calls together, where an album counts
// as its n messages. It reserves its place just before the call, so that calls that have waited for
// their chats do not start at once.
func (p *Pacer) WaitOverall(ctx context.Context, n int) error {
	if p.unpaced {
		return ctx.Err()
	}
	p.mu.Lock()
	delay, err := reserveWithin(ctx, time.Now(), 0, n, p.overall)
	p.mu.Unlock()
	if err == nil && delay > 0 && !httpclient.Sleep(ctx, delay) {
		return ctx.Err()
	}
	return err
}

// CountCall counts a call that must not wait towards the limit of all calls together. It makes no
// debt, so that it delays no answer.
func (p *Pacer) CountCall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.overall.AllowN(time.Now(), 1)
}

// CleanupDelay returns how long deletions, reactions and chat actions have to give way.
func (p *Pacer) CleanupDelay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unpaced {
		return 0
	}
	return delayOf(p.overall, time.Now(), 1+cleanupReserve)
}

// maxCleanupDelay is how long a deletion or a reaction gives way to other calls.
const maxCleanupDelay = 5 * time.Second

// GiveWay waits until no other call needs the rate limit, at most for maxCleanupDelay. It returns
// an error if the chat is blocked or ctx ends.
func (p *Pacer) GiveWay(ctx context.Context, chat int64) error {
	since := time.Now()
	for wait := p.CleanupDelay(); wait > 0 && time.Since(since) < maxCleanupDelay; wait = p.CleanupDelay() {
		if !httpclient.Sleep(ctx, wait) {
			return &channels.SendError{Err: ctx.Err(), After: wait}
		}
	}
	if blocked := p.BlockedFor(chat); blocked > 0 {
		return &channels.SendError{Err: fmt.Errorf("chat %d was sent too much", chat), After: blocked}
	}
	return nil
}

// reserveWithin reserves n messages and returns the delay after the pause. Nothing is reserved if
// the delay is too long.
func reserveWithin(ctx context.Context, now time.Time, pause time.Duration, n int,
	limits ...*rate.Limiter,
) (turn time.Duration, err error) {
	at := now.Add(pause)
	for _, l := range limits {
		turn = max(turn, delayOf(l, at, n))
	}
	if end, ok := ctx.Deadline(); ok && pause+turn > end.Sub(now)/2 {
		return 0, &channels.SendError{Err: channels.ErrBusy, After: max(pause+turn, time.Second)}
	}
	turn = 0
	for _, l := range limits {
		turn = max(turn, consume(l, at, n))
	}
	return turn, nil
}

// delayOf returns how long after a time n messages may be sent.
func delayOf(l *rate.Limiter, at time.Time, n int) time.Duration {
	short := float64(min(n, l.Burst())) - l.TokensAt(at)
	return time.Duration(max(short, 0) / float64(l.Limit()) * float64(time.Second))
}

// consume returns the same as delayOf, and counts the messages. Messages beyond the burst become a
// debt that delays the next call.
func consume(l *rate.Limiter, at time.Time, n int) time.Duration {
	now := min(n, l.Burst())
	turn := l.ReserveN(at, now).DelayFrom(at)
	for range n - now {
		l.ReserveN(at, 1)
	}
	return turn
}

func (p *Pacer) limitsOf(id int64) *chatLimits {
	one := p.chats[id]
	if one == nil {
		one = &chatLimits{limiters: []*rate.Limiter{rate.NewLimiter(1, chatBurst)}}
		if id < 0 {
			one.limiters = append(one.limiters, rate.NewLimiter(rate.Every(groupEvery), groupBurst))
		}
		p.chats[id] = one
	}
	return one
}

func (p *Pacer) dropIdleChats(now time.Time) {
	if now.Sub(p.sweptAt) < chatIdleTime {
		return
	}
	p.sweptAt = now
	for id, one := range p.chats {
		if now.Sub(one.usedAt) > chatIdleTime && now.After(one.blockedUntil) && now.After(one.editsBlockedUntil) {
			delete(p.chats, id)
		}
	}
}

// Block blocks a chat for as long as Telegram has asked. Edits are blocked separately.
func (p *Pacer) Block(chat int64, d time.Duration, edit bool) {
	if d <= 0 {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.limitsOf(chat)
	one.usedAt = now
	which := &one.blockedUntil
	if edit {
		which = &one.editsBlockedUntil
	}
	if until := now.Add(d); until.After(*which) {
		*which = until
	}
}

// BlockedFor returns how long Telegram has asked to wait with a chat.
func (p *Pacer) BlockedFor(chat int64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.chats[chat]
	if one == nil {
		return 0
	}
	return max(time.Until(one.blockedUntil), 0)
}
