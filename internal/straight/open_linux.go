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
	file, err := open(path, flags|unix.O_LARGEFILE)
	if errors.Is(err, errors.ErrUnsupported) {
		return plain(path)
	}
	return file, err
}

// Stat describes what is at a path without opening it for reading. It fails, as Open does, if any
// part of the path is a link, whatever the link leads to.
func Stat(path string) (os.FileInfo, error) {
	file, err := open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if errors.Is(err, errors.ErrUnsupported) {
		return plainStat(path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Stat()
}

// open opens a path of which no part is a link. The error is errors.ErrUnsupported where the kernel
// cannot look at the whole path.
func open(path string, flags uint64) (*os.File, error) {
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			return nil, errors.ErrUnsupported
		default:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// HasFolder reports whether a path within a folder leads to a folder that can be opened, and no
// part of it below that folder is a link. It takes a single look and is false where the kernel
// cannot do so, so false only says that Sub has to find out.
func HasFolder(parent, path string) bool {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	dir, err := unix.Open(parent, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(dir) }()
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH})
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}
