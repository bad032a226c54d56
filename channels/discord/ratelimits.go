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
	// maxCallsPerSecond is the global rate limit. Discord allows 50.
	maxCallsPerSecond = 45
	// maxCallWait is how long a call waits for its rate limit. A longer wait is an error.
	maxCallWait = 5 * time.Second
	// bucketIdleTime is when an unused bucket is removed.
	bucketIdleTime = 2 * time.Minute
	// unauthorizedPause is how long no call is made after Discord has refused the token.
	unauthorizedPause = time.Minute
)

// rateLimits delays calls as Discord's rate limits demand. The limits of a route are in the headers
// of its responses. Discord counts calls in buckets, which several routes may share, separately for
// each major parameter.
type rateLimits struct {
	unpaced bool

	mu              sync.Mutex
	bucketKeys      map[string]string  // route and major parameter → key of its bucket
	buckets         map[string]*bucket // key: bucket, or route while the bucket is unknown, and major parameter
	sweptAt         time.Time
	blockedUntil    time.Time // no call is made before
	blockReason     string    // why
	slots           [maxCallsPerSecond]callSlot
	invalidRequests invalidRequests
}

func newRateLimits(unpaced bool) *rateLimits {
	return &rateLimits{unpaced: unpaced, bucketKeys: map[string]string{}, buckets: map[string]*bucket{}}
}

// callSlot is one of the calls that may be made in a second. It is occupied until the response
// arrives and for a second after that, because it is not known when Discord counted the call.
type callSlot struct {
	busy   bool
	freeAt time.Time
}

// callPermit is the permission to make one call.
type callPermit struct {
	route  route
	bucket *bucket
	slot   *callSlot // nil for calls outside the global limit
}

// acquire waits until a call may be made. If that takes longer than maxCallWait, it returns an
// error with the time.
func (l *rateLimits) acquire(ctx context.Context, r route) (callPermit, error) {
	for {
		if err := ctx.Err(); err != nil {
			return callPermit{}, err
		}
		t, d := l.tryAcquire(r, time.Now())
		if d.wait == 0 {
			return t, nil
		}
		if d.wait > maxCallWait && d.changed == nil {
			return callPermit{}, &channels.SendError{Err: fmt.Errorf("%s: not asked: %s", r.name, d.reason), After: d.wait}
		}
		if !d.sleep(ctx) {
			return callPermit{}, ctx.Err()
		}
	}
}

// awaitBucket waits until a call's bucket has calls left, or returns at once if that takes longer
// than maxCallWait. It reserves nothing.
func (l *rateLimits) awaitBucket(ctx context.Context, r route) {
	for ctx.Err() == nil {
		l.mu.Lock()
		d := l.bucket(r).delay(time.Now())
		l.mu.Unlock()
		if d.wait == 0 || d.wait > maxCallWait && d.changed == nil {
			return
		}
		d.sleep(ctx)
	}
}

// callDelay is how long a call must wait, and why. If changed is not nil, the call may be tried
// again as soon as it is closed.
type callDelay struct {
	wait    time.Duration
	reason  string
	changed <-chan struct{}
}

// sleep waits, and reports false if ctx ends first.
func (d callDelay) sleep(ctx context.Context) bool {
	t := time.NewTimer(d.wait)
	defer t.Stop()
	select {
	case <-d.changed:
	case <-t.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// tryAcquire returns a permit, or how long to wait for one.
func (l *rateLimits) tryAcquire(r route, now time.Time) (callPermit, callDelay) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropIdleBuckets(now)
	b := l.bucket(r)
	b.usedAt = now
	if wait := l.blockedUntil.Sub(now); wait > 0 && !r.isInteraction() {
		return callPermit{}, callDelay{wait: wait, reason: l.blockReason}
	}
	if wait := l.invalidRequests.pause(now); wait > 0 {
		return callPermit{}, callDelay{wait: wait, reason: "too many calls were refused recently"}
	}
	if d := b.delay(now); d.wait > 0 {
		return callPermit{}, d
	}
	t := callPermit{route: r, bucket: b}
	if !l.unpaced && !r.isInteraction() {
		var wait time.Duration
		if t.slot, wait = l.takeSlot(now); wait > 0 {
			return callPermit{}, callDelay{wait: wait, reason: "too many calls at once"}
		}
	}
	b.consume()
	return t, callDelay{}
}

// takeSlot occupies a free slot, or returns after which time to try again.
func (l *rateLimits) takeSlot(now time.Time) (*callSlot, time.Duration) {
	wait := time.Second / 10
	for i := range l.slots {
		s := &l.slots[i]
		switch {
		case s.busy:
		case now.Before(s.freeAt):
			wait = min(wait, s.freeAt.Sub(now))
		default:
			s.busy = true
			return s, 0
		}
	}
	return nil, wait
}

func (l *rateLimits) bucket(r route) *bucket {
	key := l.bucketKey(r)
	b := l.buckets[key]
	if b == nil {
		b = &bucket{key: key}
		l.buckets[key] = b
	}
	return b
}

func (l *rateLimits) bucketKey(r route) string {
	own := r.name + " " + r.major
	if key, ok := l.bucketKeys[own]; ok {
		return key
	}
	return own
}

// release ends a call and applies the limits in its response.
func (l *rateLimits) release(t callPermit, h http.Header, err error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.slot != nil {
		t.slot.busy, t.slot.freeAt = false, now.Add(time.Second)
	}
	b := t.bucket
	b.inFlight--
	if name := h.Get("X-RateLimit-Bucket"); name != "" && l.bucketKey(t.route) != name+" "+t.route.major {
		l.bucketKeys[t.route.name+" "+t.route.major] = name + " " + t.route.major
		b = l.rekeyBucket(b, l.bucketKey(t.route))
	}
	b.updateFromHeaders(h, now)
	var apiErr *apiError
	if errors.As(err, &apiErr) {
		l.applyError(b, apiErr, now)
	}
	b.notifyWaiters()
	t.bucket.notifyWaiters()
}

// rekeyBucket moves a bucket to its key once Discord has named it, or returns the bucket that is
// there already.
func (l *rateLimits) rekeyBucket(b *bucket, key string) *bucket {
	delete(l.buckets, b.key)
	if other := l.buckets[key]; other != nil {
		return other
	}
	b.key = key
	l.buckets[key] = b
	return b
}

// applyError applies an error response to the calls to come.
func (l *rateLimits) applyError(b *bucket, apiErr *apiError, now time.Time) {
	switch apiErr.Status {
	case http.StatusUnauthorized:
		l.invalidRequests.add(now)
		if apiErr.Code != invalidWebhookToken { // the token of an interaction, not the bot's
			l.block(now.Add(unauthorizedPause), "Discord rejects the token")
		}
	case http.StatusForbidden:
		l.invalidRequests.add(now)
	case http.StatusTooManyRequests:
		if !apiErr.Shared {
			l.invalidRequests.add(now)
		}
		if apiErr.Global || apiErr.NotDiscord {
			l.block(now.Add(apiErr.RetryAfter), "Discord's global rate limit is used up")
		} else {
			b.block(now.Add(apiErr.RetryAfter))
		}
	}
}

func (l *rateLimits) block(until time.Time, why string) {
	if until.After(l.blockedUntil) {
		l.blockedUntil, l.blockReason = until, why
	}
}

// mustWait reports whether a call would have to wait.
func (l *rateLimits) mustWait(r route) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bucket(r).delay(now).wait > 0 || now.Before(l.blockedUntil)
}

func (l *rateLimits) dropIdleBuckets(now time.Time) {
	if now.Sub(l.sweptAt) < bucketIdleTime {
		return
	}
	l.sweptAt = now
	for key, b := range l.buckets {
		if b.inFlight == 0 && now.Sub(b.usedAt) > bucketIdleTime && now.After(b.resetAt) && now.After(b.blockedUntil) {
			delete(l.buckets, key)
		}
	}
	maps.DeleteFunc(l.bucketKeys, func(_, key string) bool { return l.buckets[key] == nil })
}
