package view

import (
	"time"
)

// task is something that a view does later.
type task int

const (
	showPartial task = iota
	showBoard
	showTerminals
	sendFiles
	checkQuiet
	taskCount
)

// agenda says when the tasks of a view are due; zero: there is nothing to do.
type agenda struct {
	at    [taskCount]time.Time
	timer *time.Timer
	run   func() // is called when a task is due
}

// schedule makes a task due after some time, unless it is due already.
func (a *agenda) schedule(t task, after time.Duration) {
	if a.at[t].IsZero() {
		a.at[t] = time.Now().Add(after)
		a.setTimer()
	}
}

// claimDue reports whether a task is due, and forgets it then.
func (a *agenda) claimDue(t task) bool {
	due := !a.at[t].IsZero() && !time.Now().Before(a.at[t])
	if due {
		a.clear(t)
	}
	return due
}

func (a *agenda) clear(t task) { a.at[t] = time.Time{} }

// setTimer sets the timer to the earliest due time.
func (a *agenda) setTimer() {
	var next time.Time
	for _, at := range a.at {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	switch {
	case next.IsZero():
	case a.timer == nil:
		a.timer = time.AfterFunc(time.Until(next), a.run)
	default:
		a.timer.Reset(time.Until(next))
	}
}

func (a *agenda) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
