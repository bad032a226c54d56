package discordtest

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"time"
)

// rate is so many requests in so long.
type rate struct {
	n   int
	per time.Duration
}

// window is how much of a rate is used up.
type window struct {
	start time.Time
	used  int
}

// buckets are the rate limits of REST.
type buckets struct {
	rates   map[string]rate    // by route
	windows map[string]*window // by route and major parameter
	global  rate
}

// usual is the rate of a route that no test made small. Discord's own are lower, and not promised.
var usual = rate{1000, time.Second}

func newBuckets() buckets {
	return buckets{rates: map[string]rate{}, windows: map[string]*window{}, global: rate{100_000, time.Second}}
}

// SetLimit has a route take n requests in so long, for each channel, guild or webhook of its own.
func (s *Server) SetLimit(route string, n int, per time.Duration) {
	s.update(func() { s.buckets.rates[route] = rate{n, per} })
}

// SetGlobalLimit has all routes but the callbacks of interactions take n requests in so long,
// together.
func (s *Server) SetGlobalLimit(n int, per time.Duration) {
	s.update(func() { s.buckets.global = rate{n, per} })
}

// major is the part of a call's arguments that has a bucket of its own.
func (c *Call) major() string {
	return c.Args["channel_id"] + "/" + c.Args["guild_id"] + "/" + c.Args["webhook_id"] + c.Args["webhook_token"]
}

// take counts a call, writes the headers of its bucket and says whether there was room.
func (s *Server) take(h http.Header, c *Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	limit, ok := s.buckets.rates[c.Route]
	if !ok {
		limit = usual
	}
	left, reset := s.buckets.use(c.Route+" "+c.major(), limit, now)
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(c.Route))
	h.Set("X-RateLimit-Bucket", fmt.Sprintf("%016x", hash.Sum64()))
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit.n))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(left, 0)))
	h.Set("X-RateLimit-Reset", seconds(time.Duration(now.Add(reset).UnixNano())))
	h.Set("X-RateLimit-Reset-After", seconds(reset))
	if left < 0 {
		return tooMany(reset, "user")
	}
	if c.Route != Callback {
		if left, reset := s.buckets.use("", s.buckets.global, now); left < 0 {
			return tooMany(reset, "global")
		}
	}
	return nil
}

// use takes one of a window and returns how many are left, below 0 if there was none, and when it
// is over.
func (b *buckets) use(key string, r rate, now time.Time) (left int, reset time.Duration) {
	w := b.windows[key]
	if w == nil || now.Sub(w.start) >= r.per {
		w = &window{start: now}
		b.windows[key] = w
	}
	if w.used < r.n+1 {
		w.used++
	}
	return r.n - w.used, max(r.per-now.Sub(w.start), time.Millisecond)
}

func tooMany(after time.Duration, scope string) *refusal {
	return &refusal{
		status: http.StatusTooManyRequests, text: "You are being rate limited.",
		retry: after, global: scope == "global", scope: scope,
	}
}

// seconds writes a duration as Discord does, in seconds with milliseconds.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
