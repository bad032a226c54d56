// Package pausetest repeats what a test tried while the machine gave it no time to run, as a busy
// machine does for seconds. It knows nothing of what is tested.
package pausetest

import (
	"testing"
	"time"
)

const (
	mostAttempts = 10
	interval     = 5 * time.Millisecond
)

// Try makes an attempt whose result depends on how long things take, and ends the test if it fails.
// A failure says nothing of what is tested if this process stood still for longer than tolerance
// meanwhile: the attempt is then made again. Prefer a longer limit where the test allows one.
// An attempt ends the test itself if a wait reaches its limit.
func Try(t testing.TB, tolerance time.Duration, attempt func() error) {
	t.Helper()
	for n := 1; ; n++ {
		done, pause := make(chan struct{}), make(chan time.Duration)
		began := time.Now()
		go func() { pause <- longestPause(began, done) }()
		err := attempt()
		close(done)
		stood := <-pause
		if err == nil {
			return
		}
		if stood <= tolerance || n == mostAttempts {
			t.Fatalf("%v (attempt %d, stood still for %v)", err, n, stood)
		}
		t.Logf("%v; again, because the process stood still for %v", err, stood)
	}
}

// longestPause looks at the clock from began until done, with interval between two looks, and
// returns by how much the interval was exceeded at most.
func longestPause(began time.Time, done <-chan struct{}) time.Duration {
	var longest time.Duration
	for last := began; ; {
		ended := false
		select {
		case <-done:
			ended = true
		case <-time.After(interval):
		}
		now := time.Now()
		longest = max(longest, now.Sub(last)-interval)
		last = now
		if ended {
			return longest
		}
	}
}
