package process

import "nanobot/internal/procfs"

// maxrssUnit is the unit of rusage.ru_maxrss in bytes.
const maxrssUnit = 1 << 10

// liveUsage returns the usage of a process that is not reaped. Its memory is not included: the
// process is often a shell or a launcher, whose memory says nothing about that of its children.
func liveUsage(pid int) Usage {
	s, _ := procfs.ReadStat(pid)
	return Usage{CPU: s.CPU}
}
