package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// usualGCPercent is the runtime's default. A busy daemon has busyGCPercent: with a heap of a
	// few MiB the runtime would otherwise collect garbage ten times a second.
	usualGCPercent, busyGCPercent = 100, 400
	// busyGarbage is how many bytes of garbage a busy daemon may have because of busyGCPercent.
	busyGarbage = 18 << 20
	// The daemon is busy after busyCycles collections, each within busyInterval of the one before.
	// The start of the daemon takes about five.
	busyCycles, busyInterval = 16, time.Second
)

// gcTuner chooses the GC percent: a higher one for a busy daemon, the default for an idle one.
type gcTuner struct {
	last   time.Time
	cycles int // collections in a row, each within busyInterval of the one before
}

// nextPercent counts a garbage collection and returns the GC percent until the next one. live is
// the number that the percentage applies to: the live bytes on the heap, on stacks and in globals.
func (c *gcTuner) nextPercent(now time.Time, live uint64) int {
	if now.Sub(c.last) > busyInterval {
		c.cycles = 0
	}
	c.last = now
	if c.cycles++; c.cycles <= busyCycles || live == 0 {
		return usualGCPercent
	}
	return int(min(max(busyGarbage*100/live, usualGCPercent), busyGCPercent))
}

// tuneGarbageCollector makes a busy daemon collect garbage less often, unless GOGC is set. A
// finalizer that sets itself again runs after each collection, so an idle daemon needs no timer.
func tuneGarbageCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	c, percent := gcTuner{last: time.Now()}, usualGCPercent
	live := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/scan/stack:bytes"},
		{Name: "/gc/scan/globals:bytes"},
	}
	type cycle struct{ _ [16]byte } // large enough that the tiny allocator does not combine it with other objects
	var collected func(*cycle)
	collected = func(at *cycle) {
		metrics.Read(live)
		var sum uint64
		for _, s := range live {
			sum += s.Value.Uint64()
		}
		if next := c.nextPercent(time.Now(), sum); next != percent {
			percent = next
			debug.SetGCPercent(percent)
		}
		runtime.SetFinalizer(at, collected)
	}
	runtime.SetFinalizer(&cycle{}, collected)
}
