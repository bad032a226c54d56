// Package lineartest finds work that takes more than linear time, by CPU time and by ratio, so that
// neither a slow nor a busy machine makes a test fail.
package lineartest

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

const (
	// Linear work takes four times as long for four times as much, quadratic work sixteen times.
	factor, most = 4, 10
	// tooLittle is what cannot be told from the garbage collector's share. Quadratic work on some
	// hundred KiB takes longer.
	tooLittle = 20 * time.Millisecond
	attempts  = 5
)

// Check fails the test if work(n) takes much more than four times the CPU time of work(n/4). No
// other test may run in the same process meanwhile.
func Check(t testing.TB, what string, n int, work func(n int)) {
	t.Helper()
	whole, part := cost(work, n), time.Duration(0)
	for range attempts {
		if whole <= tooLittle {
			return
		}
		if c := cost(work, n/factor); part == 0 || c < part {
			part = c
		}
		if whole <= most*part {
			return
		}
		whole = min(whole, cost(work, n))
	}
	t.Errorf("%s: %d take %s of CPU time and %d take %s", what, n/factor, part, n, whole)
}

// cost is the CPU time of the whole process, so that work may use several goroutines.
func cost(work func(int), n int) time.Duration {
	runtime.GC()
	before := used()
	work(n)
	return used() - before
}

func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
