package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// closedTo tells whether a user has no way to a path.
func closedTo(uid int, path string) (bool, error) {
	if err := syscall.Setresuid(-1, uid, -1); err != nil {
		return false, fmt.Errorf("become user %d: %w", uid, err)
	}
	_, err := os.Stat(path)
	if err := syscall.Setresuid(-1, 0, -1); err != nil {
		return false, fmt.Errorf("become root again: %w", err)
	}
	return errors.Is(err, fs.ErrPermission), nil
}
