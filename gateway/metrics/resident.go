package metrics

import (
	"slices"

	"nanobot/internal/procfs"
)

// residentMemory returns the memory in bytes of the processes in the given sessions. Processes that
// have ended or cannot be inspected count as 0. An agent leads a session of its own, which includes
// its descendants unless they created another session.
func residentMemory(sessions []int) (bytes int64) {
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
