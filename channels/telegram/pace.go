package telegram

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

// What Telegram lets a bot send: about one message a second in a chat, with short bursts; 20 a
// minute in a group; 30 a second in all. Edits count. A full bucket and what flows into it in a
// minute are together what a minute may hold, and likewise of a second.
const (
	overallRate  = 25
	overallBurst = 5
	chatBurst    = 3
	groupEvery   = 4 * time.Second
	groupBurst   = 5
	chatIdleTime = 2 * time.Minute
	maxPause     = 5 * time.Second
)

// pacer delays calls to stay within Telegram's rate limits. The limits of an idle chat are removed
// once they are full again.
type pacer struct {
	unpaced bool
	overall *rate.Limiter

	mu      sync.Mutex
	chats   map[int64]*chatLimits
	sweptAt time.Time
}

type chatLimits struct {
	limiters          []*rate.Limiter
	usedAt            time.Time
	blockedUntil      time.Time // no call before: Telegram has asked to wait
	editsBlockedUntil time.Time // the same for edits, which must not delay an answer
}

func newPacer(off bool) *pacer {
	return &pacer{unpaced: off, overall: rate.NewLimiter(overallRate, overallBurst), chats: map[int64]*chatLimits{}}
}

// wait waits until a call that sends n messages to a chat may be made. It returns an error instead
// if the chat is blocked for long, or if less time would be left for the call than was spent
// waiting.
func (p *pacer) wait(ctx context.Context, chat int64, n int, edit bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	pause, turn, err := p.reserve(ctx, chat, n, edit)
	if err != nil {
		return err
	}
	for _, d := range []time.Duration{pause, turn} {
		if d > 0 && !httpclient.Sleep(ctx, d) {
			return ctx.Err()
		}
	}
	if p.unpaced {
		return nil
	}
	// The global limit is reserved only now, so that calls that have waited do not all start at
	// once.
	p.mu.Lock()
	turn, err = reserveWithin(ctx, time.Now(), 0, n, p.overall)
	p.mu.Unlock()
	if err == nil && turn > 0 && !httpclient.Sleep(ctx, turn) {
		return ctx.Err()
	}
	return err
}

// reserve reserves a chat's next call. It returns how long the chat is blocked, and how long after
// that the call may be made.
func (p *pacer) reserve(ctx context.Context, id int64, n int, edit bool) (pause, turn time.Duration, err error) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropIdleChats(now)
	chat := p.limitsOf(id)
	chat.usedAt = now
	pause = max(chat.blockedUntil.Sub(now), 0)
	if edit {
		pause = max(chat.editsBlockedUntil.Sub(now), pause)
	}
	if pause > maxPause {
		return 0, 0, &channels.SendError{Err: fmt.Errorf("chat %d was sent too much", id), After: pause}
	}
	if !p.unpaced {
		turn, err = reserveWithin(ctx, now, pause, n, chat.limiters...)
	}
	return pause, turn, err
}

// reserveWithin reserves n messages and returns the delay after the pause. Nothing is reserved if
// the delay is too long.
func reserveWithin(ctx context.Context, now time.Time, pause time.Duration, n int, limits ...*rate.Limiter) (turn time.Duration, err error) {
	at := now.Add(pause)
	for _, l := range limits {
		turn = max(turn, delayOf(l, at, n))
	}
	if end, ok := ctx.Deadline(); ok && pause+turn > end.Sub(now)/2 {
		return 0, &channels.SendError{Err: errors.New("too much waits to be sent"), After: max(pause+turn, time.Second)}
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

func (p *pacer) limitsOf(id int64) *chatLimits {
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

func (p *pacer) dropIdleChats(now time.Time) {
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

// block blocks a chat for as long as Telegram has asked. Edits are blocked separately.
func (p *pacer) block(chat int64, d time.Duration, edit bool) {
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

// isBlocked tells whether Telegram has asked to wait with a chat.
func (p *pacer) isBlocked(chat int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.chats[chat]
	return one != nil && time.Now().Before(one.blockedUntil)
}
