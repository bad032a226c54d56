package discord

import (
	"net/http"
	"strconv"
	"time"
)

// bucket is a rate limit for calls of one kind in one channel. It is protected by rateLimits.mu.
type bucket struct {
	key          string
	limitKnown   bool // a response has named the limit
	limit        int
	remaining    int
	inFlight     int       // calls without a response yet
	resetAt      time.Time // when the limit is full again
	blockedUntil time.Time // no call before: Discord has asked to wait
	usedAt       time.Time
	changed      chan struct{} // nil, or closed when waiting calls should try again
}

// delay returns how long a call must wait. While the limit is unknown, one call goes ahead to learn
// it.
func (b *bucket) delay(now time.Time) callDelay {
	if d := b.blockedUntil.Sub(now); d > 0 {
		return callDelay{wait: d, reason: "Discord's rate limit for this call is used up"}
	}
	if b.limitKnown && !now.Before(b.resetAt) {
		b.remaining = max(b.limit-b.inFlight, 0)
	}
	switch {
	case !b.limitKnown && b.inFlight == 0, b.limitKnown && b.remaining > 0:
		return callDelay{}
	case b.limitKnown && now.Before(b.resetAt):
		return callDelay{wait: b.resetAt.Sub(now), reason: "Discord's rate limit allows no more calls of this kind for now"}
	}
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return callDelay{wait: callTimeout, reason: "another call must be answered first", changed: b.changed}
}

func (b *bucket) consume() {
	b.inFlight++
	b.remaining--
}

// updateFromHeaders reads the limit from a response. Responses may arrive out of order: within a
// window the lowest count is the newest, and a late response of the window before does not end it.
func (b *bucket) updateFromHeaders(h http.Header, now time.Time) {
	limit, ok := headerNumber(h, "X-RateLimit-Limit")
	left, ok2 := headerNumber(h, "X-RateLimit-Remaining")
	after, ok3 := headerNumber(h, "X-RateLimit-Reset-After")
	if !ok || !ok2 || !ok3 {
		return
	}
	reset := now.Add(durationOf(after))
	if !b.limitKnown || !now.Before(b.resetAt) {
		b.remaining = max(int(left)-b.inFlight, 0)
	} else {
		b.remaining = min(b.remaining, int(left))
		if b.resetAt.After(reset) {
			reset = b.resetAt
		}
	}
	b.limitKnown, b.limit, b.resetAt = true, max(int(limit), 1), reset
}

func (b *bucket) block(until time.Time) {
	if until.After(b.blockedUntil) {
		b.blockedUntil = until
	}
}

func (b *bucket) notifyWaiters() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// headerNumber reads a number from a header.
func headerNumber(h http.Header, name string) (float64, bool) {
	n, err := strconv.ParseFloat(h.Get(name), 64)
	return n, err == nil
}
