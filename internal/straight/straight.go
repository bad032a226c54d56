// Package straight opens files where their paths say that they are, by no link. It is for paths
// whose links have been followed and checked: who can rename a folder on the way could put a link
// there meanwhile.
package straight

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// flags are for reading; a pipe that nobody writes to must not hold us up.
const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// plain is for systems that can only open a path and look at its end. It looks at the rest before.
func plain(path string) (*os.File, error) {
	if err := checkWay(path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, flags, 0)
}

func plainStat(path string) (os.FileInfo, error) {
	if err := checkWay(path); err != nil {
		return nil, err
	}
	return os.Lstat(path)
}

// checkWay returns an error if a part of the path is a link.
func checkWay(path string) error {
	end, _, err := Way(path)
	if err == nil && end != filepath.Clean(path) {
		err = &os.PathError{Op: "open", Path: path, Err: unix.ELOOP}
	}
	return err
}
