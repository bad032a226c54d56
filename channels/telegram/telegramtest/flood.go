package telegramtest

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// FloodLimits limits the calls of the bot. Messages and edits count towards the limits of their
// chat. A zero field means no limit.
type FloodLimits struct {
	Every           time.Duration // a chat accepts one per interval,
	Burst           int           // after this many at once
	PerMinute       int           // of a group
	GlobalPerSecond int           // of all calls but getUpdates; an album counts as its messages
	AlbumsOnce      bool          // an album counts as one message of its chat
}

// TelegramFloodLimits approximates the limits of Telegram.
var TelegramFloodLimits = FloodLimits{Every: time.Second, Burst: 3, PerMinute: 20, GlobalPerSecond: 30}

// floodControl is FloodLimits with the sends so far.
type floodControl struct {
	FloodLimits
	sent map[int64][]time.Time // in the last minute, by chat, or allCalls
	full map[int64]time.Time   // when the token bucket of a chat is full again
}

// SetFloodControl sets the flood limits. FloodLimits{}, the default, switches flood control off.
func (s *Server) SetFloodControl(f FloodLimits) {
	s.Update(func() { s.flood = floodControl{f, map[int64][]time.Time{}, map[int64]time.Time{}} })
}

// countAgainstFlood counts n messages or edits of a chat, or returns a 429 with the time to wait.
func (s *Server) countAgainstFlood(c *chat, n int) error {
	now := s.Now()
	wait := s.flood.bucketWait(c.ID, now)
	if c.Type != "private" {
		wait = max(wait, s.flood.windowWait(c.ID, now, time.Minute, s.flood.PerMinute, s.flood.costOf(n)))
	}
	if n > 1 { // countCall has counted one
		wait = max(wait, s.flood.windowWait(allCalls, now, time.Second, s.flood.GlobalPerSecond, n-1))
	}
	if wait > 0 {
		return tooManyRequests(wait)
	}
	s.flood.recordSent(c.ID, now, s.flood.costOf(n))
	s.flood.recordCalls(allCalls, now, n-1)
	return nil
}

// countCall counts a call of any method, or returns a 429 with the time to wait.
func (s *Server) countCall(c *Call) error {
	if c.Method == "getUpdates" {
		return nil
	}
	now := s.Now()
	if wait := s.flood.windowWait(allCalls, now, time.Second, s.flood.GlobalPerSecond, 1); wait > 0 {
		return tooManyRequests(wait)
	}
	s.flood.recordCalls(allCalls, now, 1)
	return nil
}

func tooManyRequests(wait time.Duration) error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	return &apiError{
		status: http.StatusTooManyRequests, retryAfter: seconds,
		text: "Too Many Requests: retry after " + strconv.Itoa(seconds),
	}
}

// allCalls is the key of the calls of all chats in floodControl.sent.
const allCalls = 0

// costOf is how many messages of its chat an album of n items counts as.
func (f *floodControl) costOf(n int) int {
	if f.AlbumsOnce {
		return 1
	}
	return n
}

// recordSent records n messages. An album costs one per message, and may overdraw the token bucket.
func (f *floodControl) recordSent(id int64, now time.Time, n int) {
	if f.FloodLimits == (FloodLimits{}) {
		return
	}
	f.recordCalls(id, now, n)
	if f.full[id].Before(now) {
		f.full[id] = now
	}
	f.full[id] = f.full[id].Add(time.Duration(n) * f.Every)
}

// recordCalls adds n calls to a sliding window.
func (f *floodControl) recordCalls(key int64, now time.Time, n int) {
	if f.FloodLimits == (FloodLimits{}) {
		return
	}
	old := func(at time.Time) bool { return now.Sub(at) >= time.Minute }
	f.sent[key] = append(slices.DeleteFunc(f.sent[key], old), slices.Repeat([]time.Time{now}, n)...)
}

// bucketWait returns how long a chat must wait for its next token.
func (f *floodControl) bucketWait(id int64, now time.Time) time.Duration {
	if f.Every <= 0 {
		return 0
	}
	return max(0, f.full[id].Sub(now)) - time.Duration(max(f.Burst, 1)-1)*f.Every
}

// windowWait returns how long to wait until n more messages fit into a sliding window. More than
// the window allows wait until it is empty.
func (f *floodControl) windowWait(id int64, now time.Time, span time.Duration, most, n int) time.Duration {
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
