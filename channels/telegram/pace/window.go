package pace

import (
	"slices"
	"time"
)

// window limits the calls of any period. A call counts until a period after Telegram's response,
// since it was counted before that.
type window struct {
	period  time.Duration
	byItems bool    // Telegram counts an album as its items
	slots   []*slot // the calls of the last period and those that wait, in their order
}

// slot is a call that counts towards a window.
type slot struct {
	items   int
	kind    kind
	takenAt time.Time // in the future: it waits
	endsAt  time.Time // it no longer counts; zero: Telegram has not answered
}

// endOf is when a slot ends, at the earliest.
func (w *window) endOf(s *slot, now time.Time) time.Time {
	switch {
	case !s.endsAt.IsZero():
		return s.endsAt
	case s.takenAt.After(now):
		return s.takenAt.Add(w.period)
	}
	return now.Add(w.period)
}

// cost is what a call counts. Telegram does not say whether an album counts as its items, so that
// is found out.
func (w *window) cost(n int) int {
	if w.byItems {
		return n
	}
	return 1
}

// dropEnded removes the calls that no longer count.
func (w *window) dropEnded(now time.Time) {
	w.slots = slices.DeleteFunc(w.slots, func(s *slot) bool { return !s.endsAt.IsZero() && !now.Before(s.endsAt) })
}

// usedAtMostIn returns how long it takes until these slots use no more than most, and how many more
// they would still use when all of them have ended.
func (w *window) usedAtMostIn(now time.Time, slots []*slot, most int) (wait time.Duration, over int) {
	over = -most
	for _, s := range slots {
		over += w.cost(s.items)
	}
	if over <= 0 {
		return 0, 0
	}
	byEnd := func(a, b *slot) int { return w.endOf(a, now).Compare(w.endOf(b, now)) }
	for _, s := range slices.SortedFunc(slices.Values(slots), byEnd) {
		if over <= 0 {
			break
		}
		over -= w.cost(s.items)
		wait = max(w.endOf(s, now).Sub(now), 0)
	}
	return wait, max(over, 0)
}

// end makes a call count for another period, after Telegram has answered it. One that took longer
// than that counts again.
func (w *window) end(s *slot, now time.Time) {
	s.endsAt = now.Add(w.period)
	if !slices.Contains(w.slots, s) {
		w.slots = append(w.slots, s)
	}
}
