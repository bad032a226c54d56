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
	idleAfter    = 2 * time.Minute
	longestPause = 5 * time.Second
)

// pacer makes calls wait their turn. A chat's limits are forgotten when it was idle for long enough
// that they are full again.
type pacer struct {
	off     bool
	overall *rate.Limiter

	mu    sync.Mutex
	chats map[int64]*pacing
	swept time.Time
}

type pacing struct {
	limits []*rate.Limiter
	used   time.Time
	until  time.Time // Telegram has asked to wait until then
	edits  time.Time // and with edits, which must not keep an answer waiting, until then
}

func newPacer(off bool) *pacer {
	return &pacer{off: off, overall: rate.NewLimiter(overallRate, overallBurst), chats: map[int64]*pacing{}}
}

// wait returns when a call that sends n messages to a chat may be made. A chat that Telegram has
// asked to wait for long is not waited for, nor a turn that comes so late that less time would be
// left for the call than was spent on waiting.
func (p *pacer) wait(ctx context.Context, chat int64, n int, edit bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	pause, turn, err := p.turn(ctx, chat, n, edit)
	if err != nil {
		return err
	}
	for _, d := range []time.Duration{pause, turn} {
		if d > 0 && !httpclient.Sleep(ctx, d) {
			return ctx.Err()
		}
	}
	if p.off {
		return nil
	}
	// Of what all chats share it is taken only now, so that those who have waited do not all go at
	// once.
	p.mu.Lock()
	turn, err = book(ctx, time.Now(), 0, n, p.overall)
	p.mu.Unlock()
	if err == nil && turn > 0 && !httpclient.Sleep(ctx, turn) {
		return ctx.Err()
	}
	return err
}

// turn takes a chat's next turn and returns how long the chat must be left alone, and how long
// after that the turn is.
func (p *pacer) turn(ctx context.Context, id int64, n int, edit bool) (pause, turn time.Duration, err error) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep(now)
	chat := p.chat(id)
	chat.used = now
	pause = max(chat.until.Sub(now), 0)
	if edit {
		pause = max(chat.edits.Sub(now), pause)
	}
	if pause > longestPause {
		return 0, 0, &channels.SendError{Err: fmt.Errorf("chat %d was sent too much", id), After: pause}
	}
	if !p.off {
		turn, err = book(ctx, now, pause, n, chat.limits...)
	}
	return pause, turn, err
}

// book takes a turn within limits and returns how long after the pause it is. One that is not
// waited for is not taken.
func book(ctx context.Context, now time.Time, pause time.Duration, n int, limits ...*rate.Limiter) (turn time.Duration, err error) {
	at := now.Add(pause)
	for _, l := range limits {
		turn = max(turn, due(l, at, n))
	}
	if end, ok := ctx.Deadline(); ok && pause+turn > end.Sub(now)/2 {
		return 0, &channels.SendError{Err: errors.New("too much waits to be sent"), After: max(pause+turn, time.Second)}
	}
	turn = 0
	for _, l := range limits {
		turn = max(turn, take(l, at, n))
	}
	return turn, nil
}

// due is how long after a time n messages may be sent.
func due(l *rate.Limiter, at time.Time, n int) time.Duration {
	short := float64(min(n, l.Burst())) - l.TokensAt(at)
	return time.Duration(max(short, 0) / float64(l.Limit()) * float64(time.Second))
}

// take is due, and counts the messages. More than a bucket holds is a debt, which the next call
// waits for.
func take(l *rate.Limiter, at time.Time, n int) time.Duration {
	now := min(n, l.Burst())
	turn := l.ReserveN(at, now).DelayFrom(at)
	for range n - now {
		l.ReserveN(at, 1)
	}
	return turn
}

func (p *pacer) chat(id int64) *pacing {
	one := p.chats[id]
	if one == nil {
		one = &pacing{limits: []*rate.Limiter{rate.NewLimiter(1, chatBurst)}}
		if id < 0 {
			one.limits = append(one.limits, rate.NewLimiter(rate.Every(groupEvery), groupBurst))
		}
		p.chats[id] = one
	}
	return one
}

func (p *pacer) sweep(now time.Time) {
	if now.Sub(p.swept) < idleAfter {
		return
	}
	p.swept = now
	for id, one := range p.chats {
		if now.Sub(one.used) > idleAfter && now.After(one.until) && now.After(one.edits) {
			delete(p.chats, id)
		}
	}
}

// hold keeps a chat waiting for as long as Telegram has asked, which may be longer for one call
// than for the next.
func (p *pacer) hold(chat int64, d time.Duration, edit bool) {
	if d <= 0 {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.chat(chat)
	one.used = now
	which := &one.until
	if edit {
		which = &one.edits
	}
	if until := now.Add(d); until.After(*which) {
		*which = until
	}
}

// held tells whether a chat must be left alone.
func (p *pacer) held(chat int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.chats[chat]
	return one != nil && time.Now().Before(one.until)
}
