package blocks

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"nanobot/internal/nofollow"
)

// chown makes the agent's user the owner of a file that was just created in a folder. In a folder
// with the set-group-ID bit the file keeps the group of the folder.
func (w *workspace) chown(f *os.File, in *nofollow.Folder) error {
	if w.user == nil {
		return nil
	}
	group, err := w.groupIn(in)
	if err != nil {
		return err
	}
	return f.Chown(int(w.user.Uid), group)
}

// chownLink is chown for a symbolic link.
func (w *workspace) chownLink(name string, in *nofollow.Folder) error {
	if w.user == nil {
		return nil
	}
	group, err := w.groupIn(in)
	if err != nil {
		return err
	}
	return in.ChownLink(name, int(w.user.Uid), group)
}

// groupIn returns the group of a new file in a folder; -1 keeps the group that it has.
func (w *workspace) groupIn(folder *nofollow.Folder) (int, error) {
	info, err := folder.Stat()
	if err == nil && info.Mode()&fs.ModeSetgid != 0 {
		return -1, nil
	}
	return int(w.user.Gid), err
}

// chownFolder makes the user the owner of a folder that was just created. A folder that is not
// empty was put in its place and is refused.
func (w *workspace) chownFolder(folder, in *nofollow.Folder) error {
	if w.user == nil {
		return nil
	}
	f, err := folder.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.ReadDir(1); !errors.Is(err, io.EOF) {
		return errOutside
	}
	return w.chown(f, in)
}
