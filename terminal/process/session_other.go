//go:build !linux

package process

// sessionMembers returns none: only the process group can be signalled on this system.
func sessionMembers(int) map[int]int { return nil }
