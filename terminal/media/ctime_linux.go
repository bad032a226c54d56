package media

import (
	"io/fs"
	"syscall"
	"time"
)

// changedAt returns the time of a file's last change of content or metadata (ctime). Unlike the
// modification time, programs cannot set it.
func changedAt(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(stat.Ctim.Unix())
	}
	return info.ModTime()
}
