package main

import (
	"testing"
	"time"
)

func TestOnlyABusyDaemonCollectsGarbageLessOften(t *testing.T) {
	now := time.Now()
	c := gcTuner{last: now}
	collections := func(n int, every time.Duration, live uint64) (percent int) {
		for range n {
			now = now.Add(every)
			percent = c.nextPercent(now, live)
		}
		return percent
	}
	for _, step := range []struct {
		name  string
		n     int
		every time.Duration
		live  uint64
		want  int
	}{
		{"at the start", 8, 10 * time.Millisecond, 3 << 20, 100},
		{"idle", 20, 2 * time.Minute, 3 << 20, 100},
		{"busy for a moment", 10, 50 * time.Millisecond, 3 << 20, 100},
		{"busy", 20, 50 * time.Millisecond, 3 << 20, 400},
		{"busy with more", 1, 50 * time.Millisecond, 8 << 20, 225},
		{"busy with a large heap", 1, 50 * time.Millisecond, 1 << 30, 100},
		{"idle again", 1, 2 * time.Minute, 3 << 20, 100},
	} {
		if got := collections(step.n, step.every, step.live); got != step.want {
			t.Errorf("%s: %d %%, want %d %%", step.name, got, step.want)
		}
	}
}
