package telegramtest

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// FloodLimits is how much the bot may send, messages and edits alike; a zero field is no limit.
type FloodLimits struct {
	Every           time.Duration // a chat takes one in this time,
	Burst           int           // after this many at once
	PerMinute       int           // a group takes this many a minute
	GlobalPerSecond int           // all chats together take this many a second
}

// TelegramFloodLimits is about what Telegram allows.
var TelegramFloodLimits = FloodLimits{Every: time.Second, Burst: 3, PerMinute: 20, GlobalPerSecond: 30}

// flood is Flood and what was sent.
type flood struct {
	FloodLimits
	sent map[int64][]time.Time // in the last minute, by chat; 0: all
	full map[int64]time.Time   // when a chat's bucket is full again
}

// SetFloodControl switches flood control, which is off in a new server. Flood{} switches it off.
func (s *Server) SetFloodControl(f FloodLimits) {
	s.update(func() { s.flood = flood{f, map[int64][]time.Time{}, map[int64]time.Time{}} })
}

// SetClock has flood control go by another clock than the real one.
func (s *Server) SetClock(now func() time.Time) { s.update(func() { s.set.clock = now }) }

// pace counts n messages to a chat, or refuses them with the time to wait.
func (s *Server) pace(c *chat, n int) error {
	now := s.set.clock()
	wait := s.flood.bucket(c.ID, now)
	if c.Type != "private" {
		wait = max(wait, s.flood.window(c.ID, now, time.Minute, s.flood.PerMinute, n))
	}
	wait = max(wait, s.flood.window(0, now, time.Second, s.flood.GlobalPerSecond, n))
	if wait > 0 {
		seconds := max(1, int(math.Ceil(wait.Seconds())))
		return &refusal{
			status: http.StatusTooManyRequests, retryAfter: seconds,
			text: "Too Many Requests: retry after " + strconv.Itoa(seconds),
		}
	}
	s.flood.spend(c.ID, now, n)
	return nil
}

// spend notes n messages. An album costs one a message, and may overdraw the bucket.
func (f *flood) spend(id int64, now time.Time, n int) {
	if f.FloodLimits == (FloodLimits{}) {
		return
	}
	old := func(at time.Time) bool { return now.Sub(at) >= time.Minute }
	for _, key := range []int64{id, 0} {
		f.sent[key] = append(slices.DeleteFunc(f.sent[key], old), slices.Repeat([]time.Time{now}, n)...)
	}
	if f.full[id].Before(now) {
		f.full[id] = now
	}
	f.full[id] = f.full[id].Add(time.Duration(n) * f.Every)
}

// bucket says how long a chat must wait for its next token.
func (f *flood) bucket(id int64, now time.Time) time.Duration {
	if f.Every <= 0 {
		return 0
	}
	return max(0, f.full[id].Sub(now)) - time.Duration(max(f.Burst, 1)-1)*f.Every
}

// window says how long to wait until n more fit into a sliding window. What could never fit waits
// for an empty one.
func (f *flood) window(id int64, now time.Time, span time.Duration, most, n int) time.Duration {
	if most <= 0 {
		return 0
	}
	recent := slices.DeleteFunc(slices.Clone(f.sent[id]), func(at time.Time) bool { return now.Sub(at) >= span })
	free := most - len(recent)
	if free >= n || len(recent) == 0 {
		return 0
	}
	return recent[min(n-free, len(recent))-1].Add(span).Sub(now)
}
