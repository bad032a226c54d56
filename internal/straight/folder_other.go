//go:build !linux

package straight

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const (
	searching = unix.O_RDONLY | unix.O_DIRECTORY
	largeFile = 0
)

// Lstat describes an entry, of a link the link itself. It uses the path that the folder had when it
// was opened.
func (d *Folder) Lstat(name string) (fs.FileInfo, error) {
	if !isEntry(name) {
		return nil, &fs.PathError{Op: "lstat", Path: d.path(name), Err: unix.EINVAL}
	}
	return os.Lstat(d.path(name))
}

// ChownLink does nothing: here a file that somebody puts in the place of the link could be meant.
func (d *Folder) ChownLink(string, int, int) error { return nil }
