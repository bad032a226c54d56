package nofollow

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Folder is an open folder. Its methods take the name of one entry and never follow a symbolic
// link, not even one that appears during the call. Unlike os.Root, it does not follow links that
// stay within the folder either, and a FIFO never blocks it.
type Folder struct{ file *os.File }

// OpenFolder opens a folder, which the caller must close. Links in the path are followed.
func OpenFolder(path string) (*Folder, error) {
	file, err := os.OpenFile(path, openFolderFlags, 0)
	if err != nil {
		return nil, err
	}
	return &Folder{file}, nil
}

// OpenRootFolder opens the folder of an os.Root. Both must be closed.
func OpenRootFolder(root *os.Root) (*Folder, error) {
	file, err := root.OpenFile(".", openFolderFlags, 0)
	if err != nil {
		return nil, err
	}
	return &Folder{file}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.file.Close() }

// Stat describes the folder itself.
func (f *Folder) Stat() (fs.FileInfo, error) { return f.file.Stat() }

// Sub opens a folder that is an entry of this one. A link or a file is ErrNotFolder.
func (f *Folder) Sub(name string) (*Folder, error) {
	file, err := f.OpenFile(name, openFolderFlags, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		err = &fs.PathError{Op: "open", Path: f.path(name), Err: ErrNotFolder}
	}
	if err != nil {
		return nil, err
	}
	return &Folder{file}, nil
}

// OpenFile opens an entry, or the folder itself by the name ".". A symbolic link is ELOOP.
func (f *Folder) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	var fd int
	err := f.callAt("open", name, func(parent int) (err error) {
		fd, err = unix.Openat(parent, name, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|largeFile,
			uint32(perm.Perm()))
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.path(name)), nil
}

// Mkdir makes a folder in this one.
func (f *Folder) Mkdir(name string, perm fs.FileMode) error {
	return f.callAt("mkdir", name, func(parent int) error { return unix.Mkdirat(parent, name, uint32(perm.Perm())) })
}

// Rename renames an entry within this folder and replaces an entry that has the new name.
func (f *Folder) Rename(from, to string) error {
	if !isEntry(to) {
		return &fs.PathError{Op: "rename", Path: f.path(to), Err: unix.EINVAL}
	}
	return f.callAt("rename", from, func(parent int) error { return unix.Renameat(parent, from, parent, to) })
}

// Remove removes an entry that is not a folder.
func (f *Folder) Remove(name string) error {
	return f.callAt("remove", name, func(parent int) error { return unix.Unlinkat(parent, name, 0) })
}

// RemoveFolder removes an empty folder in this one.
func (f *Folder) RemoveFolder(name string) error {
	return f.callAt("remove", name, func(parent int) error { return unix.Unlinkat(parent, name, unix.AT_REMOVEDIR) })
}

// Symlink makes a symbolic link in this folder.
func (f *Folder) Symlink(target, name string) error {
	return f.callAt("symlink", name, func(parent int) error { return unix.Symlinkat(target, parent, name) })
}

// Readlink returns the target of a symbolic link. The error is EINVAL for any other entry.
func (f *Folder) Readlink(name string) (target string, err error) {
	err = f.callAt("readlink", name, func(parent int) error {
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(parent, name, buf)
		target = string(buf[:max(n, 0)])
		return err
	})
	return target, err
}

// callAt runs the system call do with the folder's file descriptor and repeats it after EINTR. The
// name must be one entry; "." is allowed for opening.
func (f *Folder) callAt(op, name string, do func(parent int) error) error {
	err := error(unix.EINVAL)
	if isEntry(name) || name == "." && op == "open" {
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			err = do(int(f.file.Fd()))
		}
		runtime.KeepAlive(f.file)
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: f.path(name), Err: err}
	}
	return nil
}

func isEntry(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

func (f *Folder) path(name string) string { return filepath.Join(f.file.Name(), name) }
