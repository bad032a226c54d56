package trust

import (
	"errors"
	"fmt"
	"syscall"
)

// Do calls a function with the permissions of the user. No other goroutine may run meanwhile.
func (u User) Do(do func()) error {
	if u.UID == 0 {
		do()
		return nil
	}
	groups, err := syscall.Getgroups()
	if err != nil {
		return err
	}
	gid := syscall.Getegid()
	err = errors.Join(syscall.Setgroups(u.Groups), syscall.Setresgid(-1, u.GID, -1), syscall.Setresuid(-1, u.UID, -1))
	if err == nil {
		do()
	}
	if err = errors.Join(err, syscall.Setresuid(-1, 0, -1), syscall.Setresgid(-1, gid, -1),
		syscall.Setgroups(groups)); err != nil {
		return fmt.Errorf("become user %d and root again: %w", u.UID, err)
	}
	return nil
}
