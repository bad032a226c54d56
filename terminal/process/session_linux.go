package process

import (
	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

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
