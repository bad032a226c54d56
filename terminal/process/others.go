package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// awaitOthers gives the other processes of the session the time that Stop gave the child.
func (c *Child) awaitOthers() {
	for c.stopping() && len(sessionOf(c.Pid())) > 0 {
		time.Sleep(20 * time.Millisecond) // nobody tells of the end of a process that is not our child
	}
}

func (c *Child) stopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timer != nil && !c.killed
}

// endOthers kills the other processes of the session until none is left. What forks meanwhile is found the next time; what
// cannot be killed, because it runs as another user or hangs in the kernel, is left after a second.
func (c *Child) endOthers() {
	for range 500 {
		others := sessionOf(c.Pid())
		if len(others) == 0 {
			return
		}
		for pid := range others {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// signalOthers signals those of the session that have left the child's group.
func (c *Child) signalOthers(s unix.Signal) {
	for pid, group := range sessionOf(c.Pid()) {
		if group != c.Pid() {
			_ = unix.Kill(pid, s)
		}
	}
}
