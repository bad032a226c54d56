package procfs

import (
	"time"

	"golang.org/x/sys/unix"
)

// NowTicks returns the clock ticks since the boot, to be compared with Stat.Start; 0 if the kernel
// does not say.
func NowTicks() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return uint64(t.Nano()) / uint64(time.Second/ticksPerSecond)
}
