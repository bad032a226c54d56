package discordtest

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"time"
)

// rate is n requests per interval.
type rate struct {
	n   int
	per time.Duration
}

// window counts the requests of the current interval.
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

// defaultRate is the rate of a route without SetLimit. Discord's own rates are lower and
// undocumented.
var defaultRate = rate{1000, time.Second}

func newBuckets() buckets {
	return buckets{rates: map[string]rate{}, windows: map[string]*window{}, global: rate{100_000, time.Second}}
}

// SetLimit limits a route to n requests per interval, for each channel, guild or webhook.
func (s *Server) SetLimit(route string, n int, per time.Duration) {
	s.Update(func() { s.buckets.rates[route] = rate{n, per} })
}

// SetGlobalLimit limits all routes together to n requests per interval. The callbacks of
// interactions are exempt.
func (s *Server) SetGlobalLimit(n int, per time.Duration) {
	s.Update(func() { s.buckets.global = rate{n, per} })
}

// majorParameter returns the path parameters that have a bucket of their own.
func (c *Call) majorParameter() string {
	return c.Args["channel_id"] + "/" + c.Args["guild_id"] + "/" + c.Args["webhook_id"] + c.Args["webhook_token"]
}

// countCall counts a call, writes the headers of its bucket, and returns an error if the limit is
// exceeded.
func (s *Server) countCall(h http.Header, c *Call) error {
	s.Lock()
	defer s.Unlock()
	now := time.Now()
	limit, ok := s.buckets.rates[c.Route]
	if !ok {
		limit = defaultRate
	}
	left, reset := s.buckets.consume(c.Route+" "+c.majorParameter(), limit, now)
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(c.Route))
	h.Set("X-RateLimit-Bucket", fmt.Sprintf("%016x", hash.Sum64()))
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit.n))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(left, 0)))
	h.Set("X-RateLimit-Reset", formatSeconds(time.Duration(now.Add(reset).UnixNano())))
	h.Set("X-RateLimit-Reset-After", formatSeconds(reset))
	if left < 0 {
		return rateLimitError(reset, "user")
	}
	if c.Route != Callback {
		if left, reset := s.buckets.consume("", s.buckets.global, now); left < 0 {
			return rateLimitError(reset, "global")
		}
	}
	return nil
}

// consume counts a request of a window. It returns how many are left, which is negative if the
// limit is exceeded, and when the window ends.
func (b *buckets) consume(key string, r rate, now time.Time) (left int, reset time.Duration) {
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

func rateLimitError(after time.Duration, scope string) *apiError {
	return &apiError{
		status: http.StatusTooManyRequests, text: "You are being rate limited.",
		retry: after, global: scope == "global", scope: scope,
	}
}

// formatSeconds formats a duration as Discord does, in seconds with three decimals.
func formatSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
