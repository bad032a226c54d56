package process

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is what a child and the processes that it has started have used.
type Usage struct {
	CPU time.Duration
	// Memory is the peak in bytes: of all processes together where the child's cgroup counts it,
	// else of the largest process that was waited for. 0: it is not known, or it is less than our
	// own peak and cannot be told from that.
	Memory int64
}

func (u Usage) or(other Usage) Usage {
	return Usage{CPU: max(u.CPU, other.CPU), Memory: max(u.Memory, other.Memory)}
}

// usageOf returns what a reaped child has used, with the processes that it has waited for.
func usageOf(s *os.ProcessState) Usage {
	u := Usage{CPU: s.UserTime() + s.SystemTime()}
	ru, ok := s.SysUsage().(*syscall.Rusage)
	var ours unix.Rusage
	if !ok || unix.Getrusage(unix.RUSAGE_SELF, &ours) != nil {
		return u
	}
	// Until it executed its program the child was a copy of us, and the kernel counts that: a peak
	// below our own says nothing.
	if ru.Maxrss > ours.Maxrss {
		u.Memory = ru.Maxrss * rssUnit
	}
	return u
}

// Used returns what the child has used until now, or until its end. CPU never decreases between
// calls, and Memory is the peak of the child itself where no cgroup counts it.
func (c *Child) Used() Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return c.last
	}
	c.last = c.supervised.usage().or(liveUsage(c.Pid())).or(c.last)
	return c.last
}
