package main

import (
	"errors"
	"fmt"
	"syscall"
)

// as does something with the rights of the servant. Nothing else may go on in this process meanwhile.
func (s servant) as(do func()) error {
	if s.uid == 0 {
		do()
		return nil
	}
	groups, err := syscall.Getgroups()
	if err != nil {
		return err
	}
	gid := syscall.Getegid()
	err = errors.Join(syscall.Setgroups(s.groups), syscall.Setresgid(-1, s.gid, -1), syscall.Setresuid(-1, s.uid, -1))
	if err == nil {
		do()
	}
	if err = errors.Join(err, syscall.Setresuid(-1, 0, -1), syscall.Setresgid(-1, gid, -1), syscall.Setgroups(groups)); err != nil {
		return fmt.Errorf("become user %d and root again: %w", s.uid, err)
	}
	return nil
}
