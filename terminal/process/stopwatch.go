package process

import (
	"sync"
	"time"
)

const (
	// tickShare is into how many ticks the time of a stopwatch is divided; leastTick and mostTick
	// bound them.
	tickShare, leastTick, mostTick = 20, 20 * time.Millisecond, time.Second
	// mostLate is how many ticks in a row may put off the end because they came late.
	mostLate = 5
)

// Stopwatch calls a function when a time has passed in which this program was able to run. While it
// is stopped (SIGSTOP, a frozen control group, a suspended machine) a child may go on and finish,
// and we could not notice: that time does not count.
type Stopwatch struct {
	f    func()
	tick time.Duration

	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration
	set   time.Time     // when the timer was set
	wait  time.Duration // and for how long
	late  int           // ticks in a row that came late
	// paused is how many pauses have not ended.
	paused int
}

// NewStopwatch returns a stopwatch that runs. The function is called in a goroutine of its own.
func NewStopwatch(d time.Duration, f func()) *Stopwatch {
	s := &Stopwatch{f: f, left: d, tick: min(max(d/tickShare, leastTick), mostTick)}
	s.set, s.wait = time.Now(), min(d, s.tick)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(s.wait, s.ring)
	return s
}

// Stop keeps the function from being called, unless that has begun.
func (s *Stopwatch) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = 0
	s.timer.Stop()
}

// Left is how much of the time is left.
func (s *Stopwatch) Left() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remaining()
}

// remaining is Left for a caller that holds the mutex.
func (s *Stopwatch) remaining() time.Duration {
	if s.paused > 0 {
		return s.left
	}
	return max(s.left-min(time.Since(s.set), s.wait), 0)
}

// Pause stops the time until resume is called, which may be called more than once. Pauses may
// overlap: the time goes on when all of them have ended.
func (s *Stopwatch) Pause() (resume func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused == 0 && s.left > 0 {
		s.timer.Stop()
		s.left = max(s.remaining(), 1) // a time that is not up is never 0, which means stopped
	}
	s.paused++
	return sync.OnceFunc(s.resume)
}

func (s *Stopwatch) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused--; s.paused > 0 || s.left <= 0 {
		return
	}
	s.set, s.wait, s.late = time.Now(), min(s.left, s.tick), 0
	s.timer.Reset(s.wait)
}

// ring counts a tick.
func (s *Stopwatch) ring() {
	if s.count() {
		s.f()
	}
}

// count reports whether the time is up. A tick that comes late counts as if it had been in time,
// and is never the last: what happened while we could not run is noticed first.
func (s *Stopwatch) count() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left <= 0 || s.paused > 0 { // stopped, or paused just when the tick came
		return false
	}
	now := time.Now()
	took := now.Sub(s.set)
	if took > s.wait+s.tick {
		took = s.wait
		s.late++
	} else {
		s.late = 0
	}
	if s.left -= took; s.left <= 0 {
		if s.late == 0 || s.late > mostLate {
			return true
		}
		s.left = s.tick
	}
	s.set, s.wait = now, min(s.left, s.tick)
	s.timer.Reset(s.wait)
	return false
}
