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

// User is the user that the daemon runs as, for root who examines another user's bot. Root's own
// permissions say nothing about the daemon's.
type User struct {
	UID, GID int // 0 if the daemon runs as the user of this process
	Groups   []int
	Name     string // "" if not in the user database, as with DynamicUser=
	Home     string
}

// UserOf returns the user who owns a state. The group of a folder is used only for users that are
// not in the user database: it may be root's group, of which the user is no member.
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
	ids, _ := u.GroupIds() // without them the user has only the primary group
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			s.Groups = append(s.Groups, n)
		}
	}
	return s
}

// Access asks the kernel whether the user has a permission (of access(2)) for a path and can enter
// all folders above it.
func (u User) Access(path string, mode uint32) (err error) {
	if failed := u.Do(func() { err = unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS) }); failed != nil {
		return failed
	}
	return err
}

// become switches this process to the user for good.
func (u User) become() error {
	if err := errors.Join(syscall.Setgroups(u.Groups), syscall.Setgid(u.GID)); err != nil {
		return fmt.Errorf("become user %d: %w", u.UID, err)
	}
	if err := syscall.Setuid(u.UID); err != nil {
		return fmt.Errorf("become user %d: %w", u.UID, err)
	}
	return nil
}
