package straight

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Open opens a file for reading. It fails if any part of the path, which is absolute, is a link.
// With Linux before 5.6, and in containers that know no newer calls, one that only just came there
// may be missed, but for the last part.
func Open(path string) (*os.File, error) {
	how := unix.OpenHow{Flags: flags | unix.O_LARGEFILE, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			return plain(path)
		default:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}
