package pace

import (
	"slices"
	"time"

	"golang.org/x/time/rate"
)

const (
	// chatEvery and chatBurst are the token bucket of every chat. The interval is a little longer
	// than Telegram's, because calls do not take equally long.
	chatEvery, chatBurst = 1050 * time.Millisecond, 3
	// groupLimit is how many messages and edits a group takes in any groupPeriod.
	groupLimit, groupPeriod = 20, time.Minute
	// answerReserve is how many tokens of each limit other messages leave for the next answer, and
	// groupReserve the same for the token bucket of a group, where several topics may be answered
	// at once.
	answerReserve, groupReserve = 1, 2
	// remarkReserve and boardReserve are how many of the groupLimit other messages leave for
	// answers that nothing announces. In the simulation in group_test.go, smaller ones delay
	// answers, and a larger boardReserve does not help them any more.
	remarkReserve, boardReserve = 2, 8
	// foldRoom is how many of the boardReserve folds may use: a fold stays in the chat.
	foldRoom = 4
	// boardBurst is how many edits of boards are made at once, if there is room.
	boardBurst = 3
	// runningFor is how long after ExpectAnswer a turn is taken to be running.
	runningFor = 6 * time.Second
	// maxSpareWait is the longest time after which a message that gives way should come back, and
	// returnGrace how much later it may do that without losing its place.
	maxSpareWait, returnGrace = 15 * time.Second, 3 * time.Second
)

// kind orders what waits for the limits of a chat.
type kind int

const (
	answer kind = iota // and questions, errors, and whatever else a person waits for
	remark             // a message that gives way
	board              // a transient message that is new, or is folded
	edit               // of a transient message
)

// waiter is a call that waits for its turn, or that was refused and will be tried again.
type waiter struct {
	class        Class
	kind         kind
	refusedUntil time.Time // when a refused call loses its place; zero: it is waiting
}

// chatLimits are the limits of a chat and what waits for them. All topics of a group share them.
type chatLimits struct {
	window  // of a group
	isGroup bool
	bucket  *rate.Limiter
	waiters []*waiter         // by kind, and by arrival within a kind
	changed chan struct{}     // closed and replaced when waiters or slots change
	running map[int]time.Time // by topic: the last ExpectAnswer

	blockedUntil      time.Time // no call before: Telegram has asked to wait
	editsBlockedUntil time.Time // the same for edits, which must not delay an answer
}

func newChatLimits(isGroup bool) *chatLimits {
	return &chatLimits{
		window:  window{period: groupPeriod},
		isGroup: isGroup, bucket: rate.NewLimiter(rate.Every(chatEvery), chatBurst),
		changed: make(chan struct{}), running: map[int]time.Time{},
	}
}

// enqueue adds a call behind those of its kind. A call that was refused before has its old place.
func (c *chatLimits) enqueue(class Class) *waiter {
	w := &waiter{class: class, kind: answer}
	switch {
	case class.Transient && class.Edit && !class.Last:
		w.kind = edit
	case class.Transient:
		w.kind = board
	case class.GivesWay:
		w.kind = remark
	}
	c.dropExpired(time.Now())
	for _, old := range c.waiters {
		if !class.Waits && old.kind == w.kind && old.class.Topic == class.Topic && !old.refusedUntil.IsZero() {
			old.class, old.refusedUntil = class, time.Time{}
			return old
		}
	}
	i := slices.IndexFunc(c.waiters, func(other *waiter) bool { return other.kind > w.kind })
	if i < 0 {
		i = len(c.waiters)
	}
	c.waiters = slices.Insert(c.waiters, i, w)
	return w
}

// dropExpired removes the calls that were refused and were not tried again in time, and old slots.
func (c *chatLimits) dropExpired(now time.Time) {
	c.waiters = slices.DeleteFunc(c.waiters, func(w *waiter) bool {
		return !w.refusedUntil.IsZero() && !now.Before(w.refusedUntil)
	})
	c.dropEnded(now)
}

// roomIn returns how long it takes until a waiter has room after all that wait before it. Messages
// other than answers leave some room, and boards as much as the expected answers need. It reserves
// nothing.
func (c *chatLimits) roomIn(now time.Time, w *waiter, n int) time.Duration {
	c.dropExpired(now)
	cost := c.cost(n)
	ahead := slices.Index(c.waiters, w)
	tokens := cost
	switch {
	case w.kind != answer && c.isGroup:
		tokens += groupReserve
	case w.kind != answer:
		tokens += answerReserve
	}
	short := float64(min(tokens, chatBurst)+ahead) - c.bucket.TokensAt(now)
	wait := time.Duration(max(short, 0) * float64(chatEvery))
	if !c.isGroup {
		return wait
	}
	most := groupLimit - ahead - cost
	switch w.kind {
	case answer:
	case remark:
		most -= remarkReserve
	case edit:
		wait = max(wait, c.spacedIn(now))
		fallthrough
	case board:
		most -= boardReserve + c.expected(now)
		if w.class.Last {
			most += foldRoom
		}
	}
	room, over := c.usedAtMostIn(now, c.slots, most)
	if over > 0 { // it waits for calls that wait themselves
		periods, rest := (over-1)/groupLimit+1, (over-1)%groupLimit
		room = max(room, groupPeriod*time.Duration(periods)+chatEvery*time.Duration(rest))
	}
	return max(wait, room)
}

// spacedIn returns how long edits of boards wait, so that boards do not use what they may use in a
// minute at once.
func (c *chatLimits) spacedIn(now time.Time) time.Duration {
	left, boards := groupLimit-boardReserve-c.expected(now), []*slot{}
	for _, s := range c.slots {
		if s.kind >= board {
			boards = append(boards, s)
		} else {
			left--
		}
	}
	if len(boards) < boardBurst {
		return 0
	}
	between := groupPeriod * boardBurst / time.Duration(max(left, 1))
	return max(boards[len(boards)-boardBurst].takenAt.Add(between).Sub(now), 0)
}

// expected forecasts the answers of the next minute: one of each running turn, and as many as in
// the last minute.
func (c *chatLimits) expected(now time.Time) (n int) {
	for topic, at := range c.running {
		if now.Sub(at) >= runningFor {
			delete(c.running, topic)
			continue
		}
		n++
	}
	for _, s := range c.slots {
		if s.kind == answer {
			n++
		}
	}
	return n
}

// admit removes a waiter and counts its call.
func (c *chatLimits) admit(w *waiter, now time.Time, n int) *slot {
	for range c.cost(n) { // what is beyond the burst becomes a debt that delays the next call
		c.bucket.ReserveN(now, 1)
	}
	s := &slot{items: n, kind: w.kind, takenAt: now}
	c.slots = append(c.slots, s)
	c.dequeue(w)
	return s
}

// refuse leaves a waiter its place until it comes back, and returns when it should.
func (c *chatLimits) refuse(w *waiter, now time.Time, wait time.Duration) time.Duration {
	if w.kind != answer {
		wait = min(wait, maxSpareWait)
	}
	w.refusedUntil = now.Add(wait + returnGrace)
	c.notify()
	return wait
}

func (c *chatLimits) dequeue(w *waiter) {
	c.waiters = slices.DeleteFunc(c.waiters, func(other *waiter) bool { return other == w })
	c.notify()
}

// notify makes those who wait look again.
func (c *chatLimits) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// blockedFor returns how long Telegram has asked to wait.
func (c *chatLimits) blockedFor(now time.Time, edit bool) time.Duration {
	blocked := max(c.blockedUntil.Sub(now), 0)
	if edit {
		blocked = max(c.editsBlockedUntil.Sub(now), blocked)
	}
	return blocked
}

// block blocks the chat. If Telegram asks for that at or right after an album, albums count as
// their items from now on.
func (c *chatLimits) block(now time.Time, d time.Duration, edit bool) {
	for _, s := range c.slots[max(len(c.slots)-2, 0):] {
		c.byItems = c.byItems || s.items > 1
	}
	which := &c.blockedUntil
	if edit {
		which = &c.editsBlockedUntil
	}
	if until := now.Add(d); until.After(*which) {
		*which = until
	}
}

// isIdle reports whether a chat has nothing to remember. The bucket is full when no slot is left.
func (c *chatLimits) isIdle(now time.Time) bool {
	c.dropExpired(now)
	return len(c.waiters)+len(c.slots)+c.expected(now) == 0 && c.blockedFor(now, true) == 0 && !c.byItems
}
