package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// waitForSession gives the other processes of the session the time that Stop gave the child.
func (c *Child) waitForSession() {
	for c.stopping() && len(sessionOf(c.Pid())) > 0 {
		time.Sleep(20 * time.Millisecond) // the kernel does not report the end of a process that is not our child
	}
}

// stopping reports whether Stop was called and its time is not up.
func (c *Child) stopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timer != nil && !c.killed
}

// killSession kills the other processes of the session until none is left. The next round finds
// what is forked during one; a process that cannot be killed, because it runs as another user or
// hangs in the kernel, is left after a second.
func (c *Child) killSession() {
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

// signalSession signals the processes of the session that have left the child's process group.
func (c *Child) signalSession(s unix.Signal) {
	for pid, group := range sessionOf(c.Pid()) {
		if group != c.Pid() {
			_ = unix.Kill(pid, s)
		}
	}
}
