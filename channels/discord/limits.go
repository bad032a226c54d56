package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"nanobot/channels"
)

const (
	// overall is how many calls a second a bot makes in all. Discord allows 50.
	overall = 45
	// longestPause is what a call waits for its turn. Who must wait longer is told so instead.
	longestPause = 5 * time.Second
	// invalidLimit is how many refused calls there may be in ten minutes. At 10,000 Discord bars the address that they
	// come from, which may be that of other bots too.
	invalidLimit = 5000
	// idleAfter is when a bucket that is not used is forgotten.
	idleAfter = 2 * time.Minute
	// lockout is how long nothing is asked after Discord did not know the token.
	lockout = time.Minute
)

// limits makes calls wait their turn. What a route allows is known from the headers of its answers; Discord counts by
// buckets, of which several routes may share one, and apart for each channel.
type limits struct {
	unpaced bool

	mu      sync.Mutex
	shared  map[string]string  // Discord's name for the bucket of a route
	buckets map[string]*bucket // by bucket, or by route while that is not known, and by major parameter
	swept   time.Time
	until   time.Time // nothing may be asked before
	why     string    // and for this reason
	recent  [overall]time.Time
	next    int // of recent
	invalid invalid
}

func newLimits(unpaced bool) *limits {
	return &limits{unpaced: unpaced, shared: map[string]string{}, buckets: map[string]*bucket{}}
}

// turn is the permission to make one call.
type turn struct {
	r      request
	bucket *bucket
}

// take returns when a call may be made. A call that would have to wait for long is refused, with the time.
func (l *limits) take(ctx context.Context, r request) (turn, error) {
	for {
		if err := ctx.Err(); err != nil {
			return turn{}, err
		}
		b, d := l.ask(r, time.Now())
		if d.wait == 0 {
			return turn{r, b}, nil
		}
		if d.wait > longestPause && d.change == nil {
			return turn{}, &channels.SendError{Err: fmt.Errorf("%s: not asked: %s", r.name(), d.why), After: d.wait}
		}
		if !d.pass(ctx) {
			return turn{}, ctx.Err()
		}
	}
}

// delay is how long a call must wait, and why. If change is not nil it may be asked again as soon as that is closed.
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
func (l *limits) ask(r request, now time.Time) (*bucket, delay) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	b := l.bucket(r)
	b.used = now
	if wait := l.until.Sub(now); wait > 0 && !r.isInteraction() {
		return nil, delay{wait: wait, why: l.why}
	}
	if wait := l.invalid.wait(now); wait > 0 {
		return nil, delay{wait: wait, why: "too many calls were refused lately"}
	}
	if d := b.delay(now); d.wait > 0 {
		return nil, d
	}
	if !l.unpaced && !r.isInteraction() {
		if wait := l.recent[l.next].Add(time.Second).Sub(now); wait > 0 {
			return nil, delay{wait: wait, why: "too many calls at once"}
		}
		l.recent[l.next] = now
		l.next = (l.next + 1) % len(l.recent)
	}
	b.take()
	return b, delay{}
}

func (l *limits) bucket(r request) *bucket {
	key := l.key(r)
	b := l.buckets[key]
	if b == nil {
		b = &bucket{key: key}
		l.buckets[key] = b
	}
	return b
}

func (l *limits) key(r request) string {
	if name, ok := l.shared[r.name()]; ok {
		return name + " " + r.major()
	}
	return r.name() + " " + r.major()
}

// give ends a turn with what the answer said.
func (l *limits) give(t turn, h http.Header, err error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := t.bucket
	b.flying--
	if name := h.Get("X-RateLimit-Bucket"); name != "" && l.shared[t.r.name()] != name {
		l.shared[t.r.name()] = name
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
func (l *limits) held(r request) bool {
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
}

// invalid counts refused calls by the minute.
type invalid struct {
	minute int64 // of the newest count
	counts [10]int
}

func (i *invalid) roll(now time.Time) {
	minute := now.Unix() / 60
	for range min(minute-i.minute, int64(len(i.counts))) {
		i.minute++
		i.counts[i.minute%int64(len(i.counts))] = 0
	}
	if i.minute < minute {
		i.minute = minute
		i.counts = [10]int{}
	}
}

func (i *invalid) count(now time.Time) {
	i.roll(now)
	i.counts[i.minute%int64(len(i.counts))]++
}

// wait is how long nothing should be asked.
func (i *invalid) wait(now time.Time) time.Duration {
	i.roll(now)
	sum := 0
	for _, n := range i.counts {
		sum += n
	}
	if sum < invalidLimit {
		return 0
	}
	return time.Minute
}

// number reads a header.
func number(h http.Header, name string) (float64, bool) {
	n, err := strconv.ParseFloat(h.Get(name), 64)
	return n, err == nil
}
