package process

import (
	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// sessionOf returns the live processes of a session other than its leader, with their process
// groups. The session is the leader's own as long as the leader is not reaped.
func sessionOf(leader int) map[int]int {
	others := map[int]int{}
	for _, pid := range procfs.Pids() {
		if pid == leader {
			continue
		}
		if session, err := unix.Getsid(pid); err != nil || session != leader {
			continue // asked first, because a system call costs far less than reading a file
		}
		group, err := unix.Getpgid(pid)
		if s, ok := procfs.ReadStat(pid); err == nil && ok && !s.Dead() {
			others[pid] = group
		}
	}
	return others
}
