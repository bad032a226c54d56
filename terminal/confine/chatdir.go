package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"nanobot/internal/straight"
)

// cannotMove checks that the user can put nothing else in the place of the workspace, of a folder
// above it, or of the chats' folder in it. What we make and give away there as root could else be
// anywhere.
func (w *who) cannotMove(workspace string) error {
	if w == nil || workspace == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return fmt.Errorf("find the workspace: %w", err)
	}
	for _, path := range []string{workspace, real} {
		for at := filepath.Join(path, "users"); at != filepath.Dir(at); at = filepath.Dir(at) {
			if err := w.cannotReplace(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// cannotReplace checks that a folder is neither the user's, nor in one where the user could put
// another in its place.
func (w *who) cannotReplace(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it will be ours
	case err != nil:
		return err
	case w.owns(info):
		return w.risk(path, path, info)
	}
	dir := filepath.Dir(path)
	above, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if w.owns(above) || w.may(above, 0o2) && above.Mode()&fs.ModeSticky == 0 {
		return w.risk(dir, path, above)
	}
	return nil
}

func (w *who) owns(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == w.uid
}

func (w *who) risk(dir, path string, info fs.FileInfo) error {
	return fmt.Errorf("%s could put a link in the place of %s, by which root would write elsewhere, because %s is open to it (%v); "+
		"chown root %[3]s and chmod go-w %[3]s, or chmod +t %[3]s to let its group write there", w.name, path, dir, info.Mode())
}

// open opens a chat's folder, which is the user's from now on, and the one above it just so far
// that the user comes through. No link is followed.
func (w *who) open(dir string) (*os.Root, error) {
	above := filepath.Dir(dir)
	workspace, err := os.OpenRoot(filepath.Dir(above))
	if err != nil {
		return nil, err
	}
	defer func() { _ = workspace.Close() }()
	users, err := straight.Sub(workspace, filepath.Base(above))
	if err != nil {
		return nil, err
	}
	defer func() { _ = users.Close() }()
	err = change(users, func(f *os.File, info fs.FileInfo) error {
		switch {
		case w.owns(info):
			return w.risk(above, dir, info)
		case w.may(info, 0o1):
			return nil
		}
		return f.Chmod(info.Mode().Perm() | 0o111)
	})
	if err != nil {
		return nil, err
	}
	chat, err := straight.Sub(users, filepath.Base(dir))
	if err != nil {
		return nil, err
	}
	if err := change(chat, func(f *os.File, _ fs.FileInfo) error { return f.Chown(int(w.uid), int(w.gid)) }); err != nil {
		_ = chat.Close()
		return nil, err
	}
	return chat, nil
}

// change does something to a folder itself.
func change(dir *os.Root, do func(*os.File, fs.FileInfo) error) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return do(f, info)
}
