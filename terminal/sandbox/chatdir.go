package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
)

// checkCannotReplaceWorkspace checks that the user cannot rename or replace the workspace, a parent
// of it, or its folder users. This process creates files there and changes their owner as root, and
// must not be led elsewhere.
func (u *agentUser) checkCannotReplaceWorkspace(workspace string) error {
	if u == nil || workspace == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return fmt.Errorf("find the workspace: %w", err)
	}
	for _, path := range []string{workspace, real} {
		for at := filepath.Join(path, "users"); at != filepath.Dir(at); at = filepath.Dir(at) {
			if err := u.checkCannotReplace(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCannotReplace checks that the user neither owns a folder nor may replace it in its parent.
func (u *agentUser) checkCannotReplace(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // this process will create and own it
	case err != nil:
		return err
	case modebits.Owns(&u.Credential, info):
		return u.replaceError(path, path, info)
	}
	dir := filepath.Dir(path)
	above, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if modebits.Owns(&u.Credential, above) || u.hasPermission(above, modebits.Write) && above.Mode()&fs.ModeSticky == 0 {
		return u.replaceError(dir, path, above)
	}
	return nil
}

func (u *agentUser) replaceError(dir, path string, info fs.FileInfo) error {
	return fmt.Errorf("%s could replace %s by a symbolic link, through which root would write elsewhere, because it may "+
		"write to %s (%v); "+
		"chown root %[3]s and chmod go-w %[3]s, or chmod +t %[3]s to keep it writable for its group", u.name, path, dir,
		info.Mode())
}

// openChatDir opens the folder of a chat after making the agent's user its owner. The parent folder
// gets search permission for the user. No symbolic link is followed.
func (u *agentUser) openChatDir(dir string) (*os.Root, error) {
	above := filepath.Dir(dir)
	workspace, err := os.OpenRoot(filepath.Dir(above))
	if err != nil {
		return nil, err
	}
	defer func() { _ = workspace.Close() }()
	users, err := nofollow.OpenSubfolder(workspace, filepath.Base(above))
	if err != nil {
		return nil, err
	}
	defer func() { _ = users.Close() }()
	err = withOpenDir(users, func(f *os.File, info fs.FileInfo) error {
		switch {
		case modebits.Owns(&u.Credential, info):
			return u.replaceError(above, dir, info)
		case u.hasPermission(info, modebits.Search):
			return nil
		}
		return f.Chmod(info.Mode().Perm() | 0o111)
	})
	if err != nil {
		return nil, err
	}
	chat, err := nofollow.OpenSubfolder(users, filepath.Base(dir))
	if err != nil {
		return nil, err
	}
	if err := withOpenDir(chat, func(f *os.File,
		_ fs.FileInfo,
	) error {
		return f.Chown(int(u.Uid), int(u.Gid))
	}); err != nil {
		_ = chat.Close()
		return nil, err
	}
	return chat, nil
}

// withOpenDir calls do with an open folder and its file info.
func withOpenDir(dir *os.Root, do func(*os.File, fs.FileInfo) error) error {
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
