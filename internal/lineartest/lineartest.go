// Package lineartest finds work that takes more than linear time. It compares the CPU times of two
// sizes, so that neither a slow nor a busy machine makes a test fail.
package lineartest

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

const (
	// The work is measured for n and for n/factor. maxRatio is the largest permitted ratio of the
	// CPU times: linear work takes four times as long for a size four times larger, quadratic work
	// sixteen times.
	factor, maxRatio = 4, 10
	// minMeasured is the shortest CPU time that is compared: a shorter one cannot be distinguished
	// from that of the garbage collector. Quadratic work on some hundred KiB takes longer.
	minMeasured = 20 * time.Millisecond
	attempts    = 5
)

// Check fails the test, or skips it with -short, if work(n) takes much more than four times the CPU
// time of work(n/4). No other test may run in the same process meanwhile.
func Check(t testing.TB, what string, n int, work func(n int)) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short")
	}
	whole, part := cpuTime(work, n), time.Duration(0)
	for range attempts {
		if whole <= minMeasured {
			return
		}
		if c := cpuTime(work, n/factor); part == 0 || c < part {
			part = c
		}
		if whole <= maxRatio*part {
			return
		}
		whole = min(whole, cpuTime(work, n))
	}
	t.Errorf("%s: %d take %s of CPU time and %d take %s", what, n/factor, part, n, whole)
}

// cpuTime returns the CPU time of the whole process during work, which may use several goroutines.
func cpuTime(work func(int), n int) time.Duration {
	runtime.GC()
	before := processCPU()
	work(n)
	return processCPU() - before
}

func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
