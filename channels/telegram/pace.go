package telegram

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"nanobot/channels"
)

// What Telegram lets a bot send: about one message a second in a chat, with short bursts; 20 a minute in a group; 30 a
// second in all. Edits count. A full bucket and what flows into it in a minute are together what a minute may hold.
const (
	overallRate  = 30
	chatBurst    = 3
	groupEvery   = 4 * time.Second
	groupBurst   = 5
	idleAfter    = 2 * time.Minute
	longestPause = 5 * time.Second
)

// pacer makes calls wait their turn. A chat's limits are forgotten when it was idle for long enough that they are full again.
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
}

func newPacer(off bool) *pacer {
	return &pacer{off: off, overall: rate.NewLimiter(overallRate, overallRate), chats: map[int64]*pacing{}}
}

// wait returns when a call that sends n messages to a chat may be made. A chat that Telegram has asked to wait for long
// is not waited for.
func (p *pacer) wait(ctx context.Context, chat int64, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limits, pause := p.use(chat, time.Now())
	if pause > longestPause {
		return &channels.SendError{Err: fmt.Errorf("chat %d was sent too much", chat), After: pause}
	}
	if pause > 0 && !sleep(ctx, pause) {
		return ctx.Err()
	}
	if p.off {
		return nil
	}
	for _, l := range append(limits, p.overall) {
		at := min(n, l.Burst())
		if err := l.WaitN(ctx, at); err != nil {
			return fmt.Errorf("wait for a turn: %w", err)
		}
		for range n - at { // more than a bucket holds is a debt, which the next call waits for
			l.Reserve()
		}
	}
	return nil
}

// use returns the limits of a chat and how long it must be left alone.
func (p *pacer) use(chat int64, now time.Time) ([]*rate.Limiter, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep(now)
	one := p.chat(chat)
	one.used = now
	return one.limits[:len(one.limits):len(one.limits)], one.until.Sub(now)
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
		if now.Sub(one.used) > idleAfter && now.After(one.until) {
			delete(p.chats, id)
		}
	}
}

// hold keeps a chat waiting for as long as Telegram has asked.
func (p *pacer) hold(chat int64, d time.Duration) {
	if d <= 0 {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.chat(chat)
	one.used, one.until = now, now.Add(d)
}

// held tells whether a chat must be left alone.
func (p *pacer) held(chat int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.chats[chat]
	return one != nil && time.Now().Before(one.until)
}

// sleep waits and reports whether the time has passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
