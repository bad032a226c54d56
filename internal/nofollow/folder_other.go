//go:build !linux

package nofollow

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const (
	openFolderFlags = unix.O_RDONLY | unix.O_DIRECTORY
	largeFile       = 0
)

// Lstat describes an entry. It describes a symbolic link itself, not the target. It uses the path
// that the folder had when it was opened.
func (f *Folder) Lstat(name string) (fs.FileInfo, error) {
	if !isEntry(name) {
		return nil, &fs.PathError{Op: "lstat", Path: f.path(name), Err: unix.EINVAL}
	}
	return os.Lstat(f.path(name))
}

// ChownLink does nothing: without O_PATH it could change a file that another user has put in the
// place of the link.
func (f *Folder) ChownLink(string, int, int) error { return nil }
