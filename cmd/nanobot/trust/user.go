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

// User is the user that the daemon runs as, where root examines another user's bot. Root's own
// rights say nothing about the daemon's.
type User struct {
	UID, GID int // 0: the daemon runs as the user of this process
	Groups   []int
	Name     string // "": not in the user database, as with DynamicUser=
	Home     string
}

// UserOf returns the user who owns a state. The group of a folder is used only for users that are
// not in the user database: it may be root's, which the user is not a member of.
func UserOf(h Owner) User {
	s := User{UID: h.UID, GID: cmp.Or(h.GID, h.UID)}
	u, err := user.LookupId(strconv.Itoa(h.UID))
	if err != nil {
		return s
	}
	s.Name, s.Home = u.Username, u.HomeDir
	if n, err := strconv.Atoi(u.Gid); err == nil {
		s.GID = n
	}
	ids, _ := u.GroupIds() // without them it has its own
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			s.Groups = append(s.Groups, n)
		}
	}
	return s
}

// Access asks the kernel whether the user has a right (as in access(2)) to a path, and to all
// folders on the way to it.
func (u User) Access(path string, right uint32) (err error) {
	if failed := u.Do(func() { err = unix.Faccessat(unix.AT_FDCWD, path, right, unix.AT_EACCESS) }); failed != nil {
		return failed
	}
	return err
}

// become makes this process run as the user, for good.
func (u User) become() error {
	if err := errors.Join(syscall.Setgroups(u.Groups), syscall.Setgid(u.GID)); err != nil {
		return fmt.Errorf("become user %d: %w", u.UID, err)
	}
	if err := syscall.Setuid(u.UID); err != nil {
		return fmt.Errorf("become user %d: %w", u.UID, err)
	}
	return nil
}
