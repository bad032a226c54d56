package process

import (
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// waitForSession waits for the other processes of the session, at most until the timeout of Stop.
func (c *Child) waitForSession() {
	for c.isStopping() && len(sessionMembers(c.Pid())) > 0 {
		time.Sleep(20 * time.Millisecond) // the kernel does not report the end of a process that is not our child
	}
}

// isStopping reports whether Stop was called and its timeout has not passed.
func (c *Child) isStopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timer != nil && !c.killed
}

// killSession kills the other processes of the session until none is left. The next round finds
// processes forked meanwhile. It gives up after killTimeout on a process that cannot be killed,
// because it runs as another user or hangs in the kernel.
func (c *Child) killSession() {
	for over := startKillTimeout(); ; {
		others := sessionMembers(c.Pid())
		if len(others) == 0 || over() {
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
	for pid, group := range sessionMembers(c.Pid()) {
		if group != c.Pid() {
			_ = unix.Kill(pid, s)
		}
	}
}

// sessionMembers returns the live processes of a session other than its leader, with their process
// groups. The leader must not be reaped, since its PID is the ID of the session.
func sessionMembers(leader int) map[int]int {
	others := map[int]int{}
	for _, pid := range procfs.Pids() {
		if pid == leader {
			continue
		}
		if session, err := unix.Getsid(pid); err != nil || session != leader {
			continue // checked first, because getsid is much cheaper than reading /proc
		}
		group, err := unix.Getpgid(pid)
		if s, ok := procfs.ReadStat(pid); err == nil && ok && !s.Dead() {
			others[pid] = group
		}
	}
	return others
}
