package discord

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"nanobot/channels"
)

const (
	// overall is how many calls a second a bot makes in all. Discord allows 50.
	overall = 45
	// longestPause is what a call waits for its turn. Who must wait longer is told so instead.
	longestPause = 5 * time.Second
	// idleAfter is when a bucket that is not used is forgotten.
	idleAfter = 2 * time.Minute
	// lockout is how long nothing is asked after Discord did not know the token.
	lockout = time.Minute
)

// limits makes calls wait their turn. What a route allows is known from the headers of its answers;
// Discord counts by buckets, of which several routes may share one, and apart for each channel.
type limits struct {
	unpaced bool

	mu      sync.Mutex
	shared  map[string]string  // which bucket a route has, by major parameter: it may have another in another channel
	buckets map[string]*bucket // by bucket, or by route while that is not known, and by major parameter
	swept   time.Time
	until   time.Time // nothing may be asked before
	why     string    // and for this reason
	slots   [overall]slot
	invalid invalid
}

func newLimits(unpaced bool) *limits {
	return &limits{unpaced: unpaced, shared: map[string]string{}, buckets: map[string]*bucket{}}
}

// slot is one of the calls that may be made in a second. It is taken until the call is answered,
// and for a second from then on: when Discord has counted the call is not known.
type slot struct {
	busy  bool
	until time.Time
}

// turn is the permission to make one call.
type turn struct {
	r      route
	bucket *bucket
	slot   *slot // nil for what is not counted
}

// take returns when a call may be made. A call that would have to wait for long is refused, with
// the time.
func (l *limits) take(ctx context.Context, r route) (turn, error) {
	for {
		if err := ctx.Err(); err != nil {
			return turn{}, err
		}
		t, d := l.ask(r, time.Now())
		if d.wait == 0 {
			return t, nil
		}
		if d.wait > longestPause && d.change == nil {
			return turn{}, &channels.SendError{Err: fmt.Errorf("%s: not asked: %s", r.name, d.why), After: d.wait}
		}
		if !d.pass(ctx) {
			return turn{}, ctx.Err()
		}
	}
}

// await returns when a call's bucket has something left, or will not have for long. It takes
// nothing.
func (l *limits) await(ctx context.Context, r route) {
	for ctx.Err() == nil {
		l.mu.Lock()
		d := l.bucket(r).delay(time.Now())
		l.mu.Unlock()
		if d.wait == 0 || d.wait > longestPause && d.change == nil {
			return
		}
		d.pass(ctx)
	}
}

// delay is how long a call must wait, and why. If change is not nil it may be asked again as soon
// as that is closed.
type delay struct {
	wait   time.Duration
	why    string
	change <-chan struct{}
}

// pass waits, and reports whether ctx has not ended meanwhile.
func (d delay) pass(ctx context.Context) bool {
	t := time.NewTimer(d.wait)
	defer t.Stop()
	select {
	case <-d.change:
	case <-t.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// ask takes a turn if there is one. Otherwise it says how long to wait.
func (l *limits) ask(r route, now time.Time) (turn, delay) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	b := l.bucket(r)
	b.used = now
	if wait := l.until.Sub(now); wait > 0 && !r.isInteraction() {
		return turn{}, delay{wait: wait, why: l.why}
	}
	if wait := l.invalid.wait(now); wait > 0 {
		return turn{}, delay{wait: wait, why: "too many calls were refused lately"}
	}
	if d := b.delay(now); d.wait > 0 {
		return turn{}, d
	}
	t := turn{r: r, bucket: b}
	if !l.unpaced && !r.isInteraction() {
		var wait time.Duration
		if t.slot, wait = l.slot(now); wait > 0 {
			return turn{}, delay{wait: wait, why: "too many calls at once"}
		}
	}
	b.take()
	return t, delay{}
}

// slot takes a free slot, or says after which time to look again.
func (l *limits) slot(now time.Time) (*slot, time.Duration) {
	wait := time.Second / 10
	for i := range l.slots {
		s := &l.slots[i]
		switch {
		case s.busy:
		case now.Before(s.until):
			wait = min(wait, s.until.Sub(now))
		default:
			s.busy = true
			return s, 0
		}
	}
	return nil, wait
}

func (l *limits) bucket(r route) *bucket {
	key := l.key(r)
	b := l.buckets[key]
	if b == nil {
		b = &bucket{key: key}
		l.buckets[key] = b
	}
	return b
}

func (l *limits) key(r route) string {
	own := r.name + " " + r.major
	if key, ok := l.shared[own]; ok {
		return key
	}
	return own
}

// give ends a turn with what the answer said.
func (l *limits) give(t turn, h http.Header, err error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.slot != nil {
		t.slot.busy, t.slot.until = false, now.Add(time.Second)
	}
	b := t.bucket
	b.flying--
	if name := h.Get("X-RateLimit-Bucket"); name != "" && l.key(t.r) != name+" "+t.r.major {
		l.shared[t.r.name+" "+t.r.major] = name + " " + t.r.major
		b = l.move(b, l.key(t.r))
	}
	b.learn(h, now)
	var no *refusal
	if errors.As(err, &no) {
		l.refused(b, no, now)
	}
	b.wake()
	t.bucket.wake()
}

// move puts a bucket where its name is known, or returns the one that is there already.
func (l *limits) move(b *bucket, key string) *bucket {
	delete(l.buckets, b.key)
	if other := l.buckets[key]; other != nil {
		return other
	}
	b.key = key
	l.buckets[key] = b
	return b
}

// refused notes what a refusal means for the calls to come.
func (l *limits) refused(b *bucket, no *refusal, now time.Time) {
	switch no.Status {
	case http.StatusUnauthorized:
		l.invalid.count(now)
		l.hold(now.Add(lockout), "Discord does not know the token")
	case http.StatusForbidden:
		l.invalid.count(now)
	case http.StatusTooManyRequests:
		if !no.Shared {
			l.invalid.count(now)
		}
		if no.Global || no.Foreign {
			l.hold(now.Add(no.After), "Discord asks to wait with everything")
		} else {
			b.hold(now.Add(no.After))
		}
	}
}

func (l *limits) hold(until time.Time, why string) {
	if until.After(l.until) {
		l.until, l.why = until, why
	}
}

// held tells whether a call would have to wait.
func (l *limits) held(r route) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bucket(r).delay(now).wait > 0 || now.Before(l.until)
}

func (l *limits) sweep(now time.Time) {
	if now.Sub(l.swept) < idleAfter {
		return
	}
	l.swept = now
	for key, b := range l.buckets {
		if b.flying == 0 && now.Sub(b.used) > idleAfter && now.After(b.reset) && now.After(b.until) {
			delete(l.buckets, key)
		}
	}
	maps.DeleteFunc(l.shared, func(_, key string) bool { return l.buckets[key] == nil })
}
