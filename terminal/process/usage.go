package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// usageOf returns what a child that is reaped has used, with those it has waited for.
func usageOf(s *os.ProcessState) Usage {
	u := Usage{CPU: s.UserTime() + s.SystemTime()}
	ru, ok := s.SysUsage().(*syscall.Rusage)
	var ours unix.Rusage
	if !ok || unix.Getrusage(unix.RUSAGE_SELF, &ours) != nil {
		return u
	}
	// Until it executed its program the child was a copy of us, and the kernel counts that: a peak below our own says nothing.
	if ru.Maxrss > ours.Maxrss {
		u.Memory = ru.Maxrss * rssUnit
	}
	return u
}

// Used returns what the child has used until now, or until its end. It is for children that live long: CPU only grows, and Memory is
// the peak of the child itself where no control group counts it.
func (c *Child) Used() Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return c.last
	}
	c.last = c.hold.used().or(liveUsage(c.Pid())).or(c.last)
	return c.last
}
