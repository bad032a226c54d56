package process

import "nanobot/internal/procfs"

// rssUnit is what the kernel counts a child's memory in.
const rssUnit = 1 << 10

// liveUsage returns what a process that is not reaped has used.
func liveUsage(pid int) Usage {
	s, _ := procfs.ReadStat(pid)
	return Usage{CPU: s.CPU, Memory: procfs.PeakMemory(pid)}
}
