package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// usualGCPercent is the runtime's own, and busyGCPercent what a busy daemon has: with a heap of
	// a few MiB the runtime would collect garbage ten times a second.
	usualGCPercent, busyGCPercent = 100, 250
	// busyGarbage bounds how much garbage a busy daemon may have because of that, until the bytes
	// that are live grow at a stroke.
	busyGarbage = 16 << 20
	// busyCycles is how many collections in a row must come within busyInterval of one another for
	// the daemon to be busy. To start takes about five.
	busyCycles, busyInterval = 16, time.Second
)

// collector decides how much garbage there may be. An idle daemon has as little as usual.
type collector struct {
	last   time.Time
	cycles int // in a row that came soon after one another
}

// collected counts a garbage collection and returns the GC percent from now on. live is what the
// runtime takes the percentage of: the bytes on the heap, on stacks and in globals.
func (c *collector) collected(now time.Time, live uint64) int {
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
	c, percent := collector{last: time.Now()}, usualGCPercent
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	type cycle struct{ _ [16]byte } // large enough that the tiny allocator does not combine it with other objects
	var collected func(*cycle)
	collected = func(at *cycle) {
		metrics.Read(live)
		var sum uint64
		for _, s := range live {
			sum += s.Value.Uint64()
		}
		if next := c.collected(time.Now(), sum); next != percent {
			percent = next
			debug.SetGCPercent(percent)
		}
		runtime.SetFinalizer(at, collected)
	}
	runtime.SetFinalizer(&cycle{}, collected)
}
