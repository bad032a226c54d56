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

// agentUser is the user as whom the agent runs if that is not the gateway's. The gateway, which is
// the superuser then, does nothing for the agent that this user could not do. A nil agentUser has
// the rights of the gateway, which the kernel checks.
type agentUser syscall.Credential

// may reports whether the user has permissions on a file or folder.
func (u *agentUser) may(info fs.FileInfo, permissions fs.FileMode) bool {
	return u == nil || modebits.Allow((*syscall.Credential)(u), info, permissions)
}

// mayChange reports whether the user may make an entry in a folder, or, if the entry is not nil,
// remove or replace it.
func (u *agentUser) mayChange(folder, entry fs.FileInfo) bool {
	if u == nil || entry == nil {
		return u.may(folder, modebits.Write|modebits.Search)
	}
	return modebits.AllowRemove((*syscall.Credential)(u), folder, entry)
}

// mayChmod reports whether the user may change the permissions of a file.
func (u *agentUser) mayChmod(info fs.FileInfo) bool {
	return u == nil || modebits.Owns((*syscall.Credential)(u), info)
}

// own makes the user the owner of a file that was just made in a folder. In a folder with the
// set-group-ID bit the file has the group of the folder already, as if the user had made it.
func (u *agentUser) own(f *os.File, in *nofollow.Folder) error {
	if u == nil {
		return nil
	}
	group, err := u.groupIn(in)
	if err != nil {
		return err
	}
	return f.Chown(int(u.Uid), group)
}

// ownLink is own for a symbolic link.
func (u *agentUser) ownLink(name string, in *nofollow.Folder) error {
	if u == nil {
		return nil
	}
	group, err := u.groupIn(in)
	if err != nil {
		return err
	}
	return in.ChownLink(name, int(u.Uid), group)
}

// groupIn returns the group that a new file in a folder is given; -1: the one that it has.
func (u *agentUser) groupIn(folder *nofollow.Folder) (int, error) {
	info, err := folder.Stat()
	if err == nil && info.Mode()&fs.ModeSetgid != 0 {
		return -1, nil
	}
	return int(u.Gid), err
}

// give makes the user the owner of a folder that was just made in another one. It is empty, unless
// another one was put in its place.
func (u *agentUser) give(folder, in *nofollow.Folder) error {
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
	return u.own(f, in)
}
