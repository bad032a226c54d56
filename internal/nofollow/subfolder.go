package nofollow

import (
	"errors"
	"os"
	"path/filepath"
)

// ErrNotFolder says that a name belongs to a link or a file and not to a folder.
var ErrNotFolder = errors.New("not a folder but a link or a file")

// OpenSubfolder opens a folder in parent; a link or a file is ErrNotFolder. os.Root follows links
// that stay within it, so the opened folder is compared with the entry of that name.
func OpenSubfolder(parent *os.Root, name string) (*os.Root, error) {
	named, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	wrong := &os.PathError{Op: "open", Path: filepath.Join(parent.Name(), name), Err: ErrNotFolder}
	if !named.IsDir() {
		return nil, wrong
	}
	sub, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := sub.Stat("."); err != nil || !os.SameFile(named, opened) {
		_ = sub.Close()
		return nil, wrong
	}
	return sub, nil
}
