package blocks

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
)

// agentUser is the user of the agent if that is not the gateway's user. The gateway, which is root
// then, does nothing for the agent that this user could not do. A nil agentUser has the permissions
// of the gateway, which the kernel checks.
type agentUser syscall.Credential

// hasPermission reports whether the user has permissions on a file or folder.
func (u *agentUser) hasPermission(info fs.FileInfo, permissions fs.FileMode) bool {
	return u == nil || modebits.Allow((*syscall.Credential)(u), info, permissions)
}

// mayChange reports whether the user may create an entry in a folder, or remove or replace entry if
// that is not nil.
func (u *agentUser) mayChange(folder, entry fs.FileInfo) bool {
	if u == nil || entry == nil {
		return u.hasPermission(folder, modebits.Write|modebits.Search)
	}
	return modebits.AllowRemove((*syscall.Credential)(u), folder, entry)
}

// mayChmod reports whether the user may change the permissions of a file.
func (u *agentUser) mayChmod(info fs.FileInfo) bool {
	return u == nil || modebits.Owns((*syscall.Credential)(u), info)
}

// chown makes the user the owner of a file that was just created in a folder. In a folder with the
// set-group-ID bit the file keeps the group of the folder.
func (u *agentUser) chown(f *os.File, in *nofollow.Folder) error {
	if u == nil {
		return nil
	}
	group, err := u.groupIn(in)
	if err != nil {
		return err
	}
	return f.Chown(int(u.Uid), group)
}

// chownLink is chown for a symbolic link.
func (u *agentUser) chownLink(name string, in *nofollow.Folder) error {
	if u == nil {
		return nil
	}
	group, err := u.groupIn(in)
	if err != nil {
		return err
	}
	return in.ChownLink(name, int(u.Uid), group)
}

// groupIn returns the group of a new file in a folder; -1 keeps the group that it has.
func (u *agentUser) groupIn(folder *nofollow.Folder) (int, error) {
	info, err := folder.Stat()
	if err == nil && info.Mode()&fs.ModeSetgid != 0 {
		return -1, nil
	}
	return int(u.Gid), err
}

// chownFolder makes the user the owner of a folder that was just created. A folder that is not
// empty was put in its place and is refused.
func (u *agentUser) chownFolder(folder, in *nofollow.Folder) error {
	if u == nil {
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
	return u.chown(f, in)
}
