// Package nofollow opens files and folders without following symbolic links. Callers resolve and
// check a path first; a link that another user puts into the path afterwards is then refused. The
// package does not decide which paths are allowed.
package nofollow

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openFileFlags opens for reading. O_NONBLOCK keeps a FIFO without a writer from blocking the open.
const openFileFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// openChecked is Open for systems whose open(2) can refuse only a link in the last element of a
// path (O_NOFOLLOW). It checks the other elements first, so a link that appears in between is
// missed.
func openChecked(path string) (*os.File, error) {
	if err := refuseLinks(path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, openFileFlags, 0)
}

func statChecked(path string) (os.FileInfo, error) {
	if err := refuseLinks(path); err != nil {
		return nil, err
	}
	return os.Lstat(path)
}

// refuseLinks returns ELOOP if an element of the path is a symbolic link.
func refuseLinks(path string) error {
	end, _, err := Resolve(path)
	if err == nil && end != filepath.Clean(path) {
		err = &os.PathError{Op: "open", Path: path, Err: unix.ELOOP}
	}
	return err
}
