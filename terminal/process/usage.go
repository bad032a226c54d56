package process

import (
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// Usage is the resource usage of a child and its descendants.
type Usage struct {
	CPU time.Duration
	// Memory is the peak in bytes: of all processes together where the child's cgroup counts it,
	// otherwise of the largest process that was waited for. 0: not known, or below our own peak and
	// therefore not distinguishable from it.
	Memory int64
}

func (u Usage) max(other Usage) Usage {
	return Usage{CPU: max(u.CPU, other.CPU), Memory: max(u.Memory, other.Memory)}
}

// reapedUsage returns the usage of a reaped child and the processes that it has waited for.
func reapedUsage(l *leader) Usage {
	u := Usage{CPU: l.cpuTime()}
	var ours unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ours) != nil {
		return u
	}
	// Before execve the child was a copy of this process, which the kernel counts: a peak
	// below our own is meaningless.
	if l.rusage.Maxrss > ours.Maxrss {
		u.Memory = int64(l.rusage.Maxrss) * maxrssUnit //nolint:unconvert // 32 bits on 32-bit machines
	}
	return u
}

// Usage returns the usage until now, or until the end of the child. CPU never decreases between
// calls. Memory is 0 while the child runs, unless its cgroup counts it.
func (c *Child) Usage() Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return c.lastUsage
	}
	c.lastUsage = c.supervised.cgroup.usage().max(liveUsage(c.Pid())).max(c.lastUsage)
	return c.lastUsage
}

// liveUsage returns the usage of a process that is not reaped. Its memory is not included: the
// process is often a shell or a launcher, whose memory says nothing about that of its children.
func liveUsage(pid int) Usage {
	s, _ := procfs.ReadStat(pid)
	return Usage{CPU: s.CPU}
}
