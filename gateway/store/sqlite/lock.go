package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/gateway/store"
)

// lockState locks the folder of a state for a daemon until unlockState, or until the daemon dies.
func lockState(dir string) (*os.File, error) {
	path := filepath.Join(dir, LockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the state: %w", err)
	}
	if err := acquireLock(f); err != nil {
		owner := readLockOwner(f)
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w (pid %s): stop it first", path, store.ErrLocked, owner)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !isAtPath(f, path) {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: it was replaced just now; start again", path)
	}
	if err := writeLockOwner(f, strconv.Itoa(os.Getpid())+"\n"); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// isAtPath reports whether an open file is the one at a path: the lock of a removed file is
// useless.
func isAtPath(f *os.File, path string) bool {
	ours, err := f.Stat()
	at, serr := os.Stat(path)
	return err == nil && serr == nil && os.SameFile(ours, at)
}

// unlockState unlocks a folder. Closing the file is not enough while a process that is being
// started has inherited it.
func unlockState(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

// acquireLock acquires the lock. If a daemon was killed while it started an agent, the new process
// has the lock for a moment; so the lock of a dead daemon is waited for.
func acquireLock(f *os.File) error {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Since(began) > deadOwnerWait {
			return err
		}
		if pid, perr := strconv.Atoi(readLockOwner(f)); perr != nil || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			return err
		}
	}
}

// deadOwnerWait is how long the lock of a dead daemon is waited for.
const deadOwnerWait = 5 * time.Second

func readLockOwner(f *os.File) string {
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, 32))
	return strings.TrimSpace(string(text))
}

// writeLockOwner writes the process ID of the lock's owner, for the error message of other daemons.
func writeLockOwner(f *os.File, text string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(text), 0)
	return err
}
