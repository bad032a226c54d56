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
