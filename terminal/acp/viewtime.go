package acp

import (
	"time"
)

// soon has something shown after a while, if that is not due already.
func (v *view) soon(at *time.Time, after time.Duration) {
	if !at.IsZero() {
		return
	}
	*at = time.Now().Add(after)
	v.arm()
}

// arm sets the timer to what is due first.
func (v *view) arm() {
	var next time.Time
	for _, at := range []time.Time{v.partialAt, v.boardAt, v.glanceAt, v.filesAt} {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	switch {
	case next.IsZero():
	case v.timer == nil:
		v.timer = time.AfterFunc(time.Until(next), v.tick)
	default:
		v.timer.Reset(time.Until(next))
	}
}

// tick shows what is due.
func (v *view) tick() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return
	}
	now := time.Now()
	due := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	if due(v.filesAt) {
		v.sendFiles()
	}
	if due(v.partialAt) {
		v.showPartial()
	}
	if due(v.glanceAt) {
		v.glance()
	}
	if due(v.boardAt) {
		v.showBoard()
	}
	v.arm()
}
