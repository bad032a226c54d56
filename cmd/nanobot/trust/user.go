package trust

import (
	"cmp"
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// User is the user that the daemon runs as. Root needs it to examine another user's bot, because
// root's own permissions say nothing about the daemon's.
type User struct {
	UID, GID int // 0 if the daemon runs as the user of this process
	Groups   []int
	Name     string // "" if not in the user database, as with DynamicUser=
	Home     string
}

// UserOf returns the user who owns a state. The group of a folder is used only for users that are
// not in the user database: it may be root's group, of which the user is no member.
func UserOf(owner Owner) User {
	result := User{UID: owner.UID, GID: cmp.Or(owner.GID, owner.UID)}
	u, err := user.LookupId(strconv.Itoa(owner.UID))
	if err != nil {
		return result
	}
	result.Name, result.Home = u.Username, u.HomeDir
	if n, err := strconv.Atoi(u.Gid); err == nil {
		result.GID = n
	}
	ids, _ := u.GroupIds() // without them the user has only the primary group
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			result.Groups = append(result.Groups, n)
		}
	}
	return result
}

// Access asks the kernel whether the user has a permission (of access(2)) for a path and can enter
// all folders above it.
func (u User) Access(path string, mode uint32) (err error) {
	if failed := u.Do(func() { err = unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS) }); failed != nil {
		return failed
	}
	return err
}

// become permanently switches this process to the user.
func (u User) become() error {
	if err := errors.Join(syscall.Setgroups(u.Groups), syscall.Setgid(u.GID)); err != nil {
		return fmt.Errorf("become user %d: %w", u.UID, err)
	}
	if err := syscall.Setuid(u.UID); err != nil {
		return fmt.Errorf("become user %d: %w", u.UID, err)
	}
	return nil
}
