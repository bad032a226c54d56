package media

import (
	"io/fs"
	"syscall"
)

// fileID identifies a file independently of its names: device and inode.
type fileID struct{ device, inode uint64 }

// idOf returns the ID of a file and the number of its hard links.
func idOf(info fs.FileInfo) (id fileID, names uint64) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, 1
	}
	return fileID{uint64(stat.Dev), stat.Ino}, uint64(stat.Nlink) //nolint:gosec,unconvert // types differ by system
}
