package procfs

import (
	"time"

	"golang.org/x/sys/unix"
)

// TicksSinceBoot returns the clock ticks since boot, for comparison with Stat.Start; 0 if unknown.
func TicksSinceBoot() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return uint64(t.Nano()) / uint64(time.Second/TicksPerSecond)
}
