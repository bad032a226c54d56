package process

import "nanobot/internal/procfs"

// maxrssUnit is the unit of rusage.ru_maxrss in bytes.
const maxrssUnit = 1 << 10

// liveUsage returns the usage of a process that is not reaped.
func liveUsage(pid int) Usage {
	s, _ := procfs.ReadStat(pid)
	return Usage{CPU: s.CPU, Memory: procfs.PeakMemory(pid)}
}
