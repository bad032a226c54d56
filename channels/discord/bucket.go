package discord

import (
	"net/http"
	"strconv"
	"time"
)

// bucket is what calls of one kind in one channel have left. It is guarded by its limits.
type bucket struct {
	key    string
	known  bool // Discord has said what there is
	limit  int
	left   int
	flying int       // calls that are not answered
	reset  time.Time // when it is full again
	until  time.Time // Discord has asked to wait until then
	used   time.Time
	change chan struct{} // closed when something changed that somebody waits for
}

// delay is how long a call must wait. While nothing is known one call goes ahead and finds out.
func (b *bucket) delay(now time.Time) delay {
	if d := b.until.Sub(now); d > 0 {
		return delay{wait: d, why: "Discord asks to wait with calls of this kind"}
	}
	if b.known && !now.Before(b.reset) {
		b.left = max(b.limit-b.flying, 0)
	}
	switch {
	case !b.known && b.flying == 0, b.known && b.left > 0:
		return delay{}
	case b.known && now.Before(b.reset):
		return delay{wait: b.reset.Sub(now), why: "Discord allows no more calls of this kind for now"}
	}
	if b.change == nil {
		b.change = make(chan struct{})
	}
	return delay{wait: callTimeout, why: "another call must be answered first", change: b.change}
}

func (b *bucket) take() {
	b.flying++
	b.left--
}

// learn takes in what an answer says. Answers may come in another order than they were made: within
// a window the lowest count is the newest.
func (b *bucket) learn(h http.Header, now time.Time) {
	limit, ok := number(h, "X-RateLimit-Limit")
	left, ok2 := number(h, "X-RateLimit-Remaining")
	after, ok3 := number(h, "X-RateLimit-Reset-After")
	if !ok || !ok2 || !ok3 {
		return
	}
	reset := now.Add(seconds(after))
	if !b.known || !now.Before(b.reset) {
		b.left = max(int(left)-b.flying, 0)
	} else {
		b.left = min(b.left, int(left))
	}
	b.known, b.limit, b.reset = true, max(int(limit), 1), reset
}

func (b *bucket) hold(until time.Time) {
	if until.After(b.until) {
		b.until = until
	}
}

func (b *bucket) wake() {
	if b.change != nil {
		close(b.change)
		b.change = nil
	}
}

// number reads a header.
func number(h http.Header, name string) (float64, bool) {
	n, err := strconv.ParseFloat(h.Get(name), 64)
	return n, err == nil
}
