package process

import (
	"sync"
	"time"
)

const (
	// ticksPerRun is the number of ticks of a stopwatch's time; minTick and maxTick bound the
	// duration of one tick.
	ticksPerRun, minTick, maxTick = 20, 20 * time.Millisecond, time.Second
	// maxLateTicks is how many late ticks in a row may delay the end.
	maxLateTicks = 5
)

// Stopwatch calls a function after a time during which this program was able to run. Time does not
// count while this program is stopped (SIGSTOP, a frozen cgroup, a suspended machine), because a
// child may finish meanwhile without being noticed.
type Stopwatch struct {
	onExpire func()
	tick     time.Duration

	mu            sync.Mutex
	timer         *time.Timer
	left          time.Duration
	timerSetAt    time.Time     // when the timer was set
	timerDuration time.Duration // duration of the timer
	lateTicks     int           // ticks in a row that came late
	// paused is the number of open pauses.
	paused int
}

// NewStopwatch returns a running stopwatch. f is called in its own goroutine.
func NewStopwatch(d time.Duration, f func()) *Stopwatch {
	d = max(d, 1) // 0 means stopped
	s := &Stopwatch{onExpire: f, left: d, tick: min(max(d/ticksPerRun, minTick), maxTick)}
	s.timerSetAt, s.timerDuration = time.Now(), min(d, s.tick)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(s.timerDuration, s.onTick)
	return s
}

// After returns a channel that is closed when a stopwatch has counted d. stop prevents that.
func After(d time.Duration) (over <-chan struct{}, stop func()) {
	elapsed := make(chan struct{})
	return elapsed, NewStopwatch(d, func() { close(elapsed) }).Stop
}

// Stop prevents the call of the function, unless it has begun.
func (s *Stopwatch) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = 0
	s.timer.Stop()
}

// Remaining returns the remaining time.
func (s *Stopwatch) Remaining() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remaining()
}

// remaining is Remaining for a caller that holds the mutex.
func (s *Stopwatch) remaining() time.Duration {
	if s.paused > 0 {
		return s.left
	}
	return max(s.left-min(time.Since(s.timerSetAt), s.timerDuration), 0)
}

// Pause stops the time until resume is called, which may be called more than once. Pauses may
// overlap: the time continues when all of them have ended.
func (s *Stopwatch) Pause() (resume func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused == 0 && s.left > 0 {
		s.timer.Stop()
		s.left = max(s.remaining(), 1) // 0 means stopped
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
	s.timerSetAt, s.timerDuration, s.lateTicks = time.Now(), min(s.left, s.tick), 0
	s.timer.Reset(s.timerDuration)
}

// onTick handles the timer.
func (s *Stopwatch) onTick() {
	if s.countTick() {
		s.onExpire()
	}
}

// countTick reports whether the time is up. A late tick counts as if it had been in time and is
// never the last, so that events from the time in which we could not run are noticed first.
func (s *Stopwatch) countTick() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left <= 0 || s.paused > 0 { // stopped, or paused just when the tick came
		return false
	}
	now := time.Now()
	took := now.Sub(s.timerSetAt)
	if took > s.timerDuration+s.tick {
		took = s.timerDuration
		s.lateTicks++
	} else {
		s.lateTicks = 0
	}
	if s.left -= took; s.left <= 0 {
		if s.lateTicks == 0 || s.lateTicks > maxLateTicks {
			return true
		}
		s.left = s.tick
	}
	s.timerSetAt, s.timerDuration = now, min(s.left, s.tick)
	s.timer.Reset(s.timerDuration)
	return false
}
