package pace

import (
	"slices"
	"time"

	"golang.org/x/time/rate"
)

const (
	// overallLimit is how many calls are made in any second, a little below Telegram's limit of
	// about 30. The fewest that Telegram's refusals lower it to is minOverallLimit.
	overallLimit, minOverallLimit = 28, 5
	// raiseEvery is how long no refusal lowers the limit until it is raised.
	raiseEvery = 20 * time.Second
	// refusalsWithin is how long after a chat another one has to be refused to lower the limit.
	refusalsWithin = 2 * time.Second
	// spareShare and spareBurst are the token bucket of what is no answer, as a share of the limit.
	// It spreads these calls over the second, so that answers soon find room again.
	spareShare, spareBurst = 5.0 / 7, 5
	// editReserve is how many places of the overall limit the edit of a transient message leaves:
	// one for the next answer, and one for the first transient message of another chat.
	editReserve = answerReserve + 1
	// cleanupReserve is how many places of the overall limit deletions, reactions and chat actions
	// leave, for an answer and a transient message.
	cleanupReserve = 2
)

// overall is the limit of all calls together. Answers need a place in the window; other calls also
// tokens of the spare bucket, which answers empty.
type overall struct {
	window
	spare       *rate.Limiter
	lowered     int // the limit at loweredAt
	loweredAt   time.Time
	left        chan struct{} // closed when a call leaves the queue without being made
	refusedChat int64         // the last chat for which Telegram has asked to wait
	refusedAt   time.Time
}

func newOverall() overall {
	return overall{
		window:  window{period: time.Second, byItems: true},
		spare:   rate.NewLimiter(overallLimit*spareShare, spareBurst),
		lowered: overallLimit, left: make(chan struct{}),
	}
}

// removeWaiting removes a call that waits, and lets those behind it move up.
func (o *overall) removeWaiting(s *slot) {
	at := slices.Index(o.slots, s)
	if o.slots = slices.Delete(o.slots, at, at+1); at < len(o.slots) {
		close(o.left)
		o.left = make(chan struct{})
	}
}

// limit is how many calls are made in any second. It rises again after it was lowered.
func (o *overall) limit(now time.Time) int {
	limit := o.lowered
	for at := o.loweredAt; limit < overallLimit && now.Sub(at) >= raiseEvery; at = at.Add(raiseEvery) {
		limit = min(limit*5/4, overallLimit)
	}
	return limit
}

// learn lowers the limit if Telegram refuses calls of two chats in short succession while half of
// the limit is used: a 429 does not say whether a call was over the limit of its chat or over that
// of all calls. The refusals of a second count once.
func (o *overall) learn(now time.Time, chat int64) {
	o.dropEnded(now)
	used := 0
	for _, s := range o.slots {
		if !s.takenAt.After(now) {
			used += s.items
		}
	}
	if chat != o.refusedChat && now.Sub(o.refusedAt) < refusalsWithin && now.Sub(o.loweredAt) >= o.period &&
		used >= o.limit(now)/2 {
		o.lowered, o.loweredAt = max(o.limit(now)*3/4, minOverallLimit), now
	}
	o.refusedChat, o.refusedAt = chat, now
}

// spareIn returns how long it takes until so many calls that are no answers find room.
func (o *overall) spareIn(now time.Time, n int) time.Duration {
	limit := o.limit(now)
	wait, _ := o.usedAtMostIn(now, o.slots, max(limit-n, limit/2)) // an album may be larger than a lowered limit
	o.spare.SetLimitAt(now, rate.Limit(limit)*spareShare)
	short := float64(min(n, spareBurst)) - o.spare.TokensAt(now)
	return max(wait, time.Duration(max(short, 0)/float64(o.spare.Limit())*float64(time.Second)))
}

// enqueue adds a call behind the others.
func (o *overall) enqueue(now time.Time, n int) *slot {
	s := &slot{items: n}
	o.dropEnded(now)
	o.slots = append(o.slots, s)
	for range n {
		o.spare.AllowN(now, 1)
	}
	return s
}

// admitIn returns how long it takes until a call has room after those before it. With 0 it counts
// as made.
func (o *overall) admitIn(now time.Time, s *slot) time.Duration {
	wait, _ := o.usedAtMostIn(now, o.slots[:slices.Index(o.slots, s)], o.limit(now)-s.items)
	if s.takenAt = now.Add(wait); wait == 0 {
		s.endsAt = now.Add(o.period) // also if it takes longer, as an upload does
	}
	return wait
}
