package nofollow

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// O_PATH needs only search permission for the folder, not read permission.
const (
	openFolderFlags = unix.O_PATH | unix.O_DIRECTORY
	largeFile       = unix.O_LARGEFILE
)

// Lstat describes an entry. It describes a symbolic link itself, not the target.
func (f *Folder) Lstat(name string) (fs.FileInfo, error) {
	file, err := f.OpenFile(name, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Stat()
}

// ChownLink changes the owner and group of a symbolic link; a gid of -1 leaves the group as it is.
// For any other entry, which another user may have put there, the error is EINVAL.
func (f *Folder) ChownLink(name string, uid, gid int) error {
	file, err := f.OpenFile(name, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.Mode()&fs.ModeSymlink == 0 {
		err = unix.EINVAL
	}
	if err == nil {
		err = unix.Fchownat(int(file.Fd()), "", uid, gid, unix.AT_EMPTY_PATH)
	}
	if err != nil {
		return &fs.PathError{Op: "chown", Path: f.path(name), Err: err}
	}
	return nil
}
