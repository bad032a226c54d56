package nofollow

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Open opens a file for reading. It fails with ELOOP if any element of the absolute path is a
// symbolic link. Without openat2 (Linux before 5.6, and some containers) a link that appears during
// the call is refused only as the last element.
func Open(path string) (*os.File, error) {
	file, err := open(path, openFileFlags|unix.O_LARGEFILE)
	if errors.Is(err, errors.ErrUnsupported) {
		return openChecked(path)
	}
	return file, err
}

// Stat describes the file at a path without opening it for reading. It fails, as Open does, if any
// element of the path is a symbolic link.
func Stat(path string) (os.FileInfo, error) {
	file, err := open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if errors.Is(err, errors.ErrUnsupported) {
		return statChecked(path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Stat()
}

// open opens a path without symbolic links by openat2. The error is errors.ErrUnsupported where the
// kernel or a seccomp filter lacks that call.
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

// HasFolder reports whether a path below parent is a folder that can be opened and has no symbolic
// link below parent. It is a fast check by few system calls and false where the kernel lacks
// openat2, so after false the caller has to use OpenSubfolder.
func HasFolder(parent, path string) bool {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	// Most parents have no symbolic link either.
	if fd, err := unix.Openat2(unix.AT_FDCWD, parent+"/"+path,
		&unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS}); err == nil {
		_ = unix.Close(fd)
		return filepath.IsLocal(path)
	}
	dir, err := unix.Open(parent, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(dir) }()
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{
		Flags:   flags,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}
