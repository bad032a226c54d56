package acp

import (
	"time"
)

// schedule sets a due time of the view, such as boardAt, unless it is set already.
func (v *view) schedule(at *time.Time, after time.Duration) {
	if !at.IsZero() {
		return
	}
	*at = time.Now().Add(after)
	v.setTimer()
}

// setTimer sets the timer to the earliest due time.
func (v *view) setTimer() {
	var next time.Time
	for _, at := range []time.Time{v.partialAt, v.boardAt, v.terminalsAt, v.filesAt, v.quietAt} {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	switch {
	case next.IsZero():
	case v.timer == nil:
		v.timer = time.AfterFunc(time.Until(next), v.onTimer)
	default:
		v.timer.Reset(time.Until(next))
	}
}

// onTimer shows everything that is due.
func (v *view) onTimer() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
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
	if due(v.terminalsAt) {
		v.refreshTerminals()
	}
	if due(v.quietAt) {
		v.checkQuiet()
	}
	if due(v.boardAt) {
		v.showBoard()
	}
	v.setTimer()
}
