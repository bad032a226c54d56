package terminal

import (
	"io/fs"
	"syscall"
	"time"
)

// changedAt is when a file was last written, made, renamed or given another name. Unlike the time
// of the last write nobody can set it.
func changedAt(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(stat.Ctim.Unix())
	}
	return info.ModTime()
}
