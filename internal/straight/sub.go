package straight

import (
	"errors"
	"os"
	"path/filepath"
)

// ErrNoFolder says that there is something else where a folder should be.
var ErrNoFolder = errors.New("not a folder but a link or a file")

// Sub opens a folder within another. A root follows links that stay within it, so what was opened
// is compared with what has the name.
func Sub(parent *os.Root, name string) (*os.Root, error) {
	named, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	wrong := &os.PathError{Op: "open", Path: filepath.Join(parent.Name(), name), Err: ErrNoFolder}
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
