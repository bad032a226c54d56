//go:build !linux

package procfs

// TicksSinceBoot returns 0: there is no /proc with start times to compare.
func TicksSinceBoot() uint64 { return 0 }
