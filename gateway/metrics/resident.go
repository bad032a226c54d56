package metrics

import (
	"slices"

	"nanobot/internal/procfs"
)

// resident returns the memory in bytes of the processes in some sessions. Processes that have
// ended, or that this system does not describe, count as 0. An agent leads a session of its own,
// which includes its shell's children unless they made one themselves.
func resident(sessions []int) (bytes int64) {
	if len(sessions) == 0 {
		return 0
	}
	for _, pid := range procfs.Pids() {
		if s, ok := procfs.ReadStat(pid); ok && slices.Contains(sessions, s.Session) {
			bytes += s.Resident
		}
	}
	return bytes
}
