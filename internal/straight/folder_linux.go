package straight

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// A folder need not be readable for its entries to be used.
const (
	searching = unix.O_PATH | unix.O_DIRECTORY
	largeFile = unix.O_LARGEFILE
)

// Lstat describes an entry, of a link the link itself.
func (d *Folder) Lstat(name string) (fs.FileInfo, error) {
	file, err := d.OpenFile(name, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Stat()
}

// ChownLink gives a symbolic link to a user and a group; -1: the group stays. An entry that is no
// link, which somebody may have put in its place, is EINVAL.
func (d *Folder) ChownLink(name string, uid, gid int) error {
	file, err := d.OpenFile(name, unix.O_PATH, 0)
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
		return &fs.PathError{Op: "chown", Path: d.path(name), Err: err}
	}
	return nil
}
