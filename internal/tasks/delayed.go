package tasks

import (
	"sync"
	"time"
)

// Delayed runs a function some time after it was scheduled. Its methods are called with its lock
// held, and so is the function.
type Delayed struct {
	lock  sync.Locker
	run   func()
	timer *time.Timer // nil: it is not scheduled
}

// NewDelayed returns a task that is not scheduled.
func NewDelayed(lock sync.Locker, run func()) *Delayed { return &Delayed{lock: lock, run: run} }

// Schedule runs the function after some time, unless it is scheduled already.
func (d *Delayed) Schedule(after time.Duration) {
	if d.timer != nil {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(after, func() {
		d.lock.Lock()
		defer d.lock.Unlock()
		if d.timer == timer { // it was not cancelled meanwhile
			d.timer = nil
			d.run()
		}
	})
	d.timer = timer
}

// Cancel removes the task from the schedule, and reports whether it was scheduled.
func (d *Delayed) Cancel() bool {
	if d.timer == nil {
		return false
	}
	d.timer.Stop()
	d.timer = nil
	return true
}
