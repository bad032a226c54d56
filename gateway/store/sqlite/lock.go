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

// lock marks a folder as a daemon's own until unlock, or until the daemon dies.
func lock(dir string) (*os.File, error) {
	path := filepath.Join(dir, LockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the state: %w", err)
	}
	if err := seize(f); err != nil {
		holder := readHolder(f)
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w (pid %s)", path, store.ErrLocked, holder)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !there(f, path) {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: it was replaced just now; start again", path)
	}
	if err := note(f, strconv.Itoa(os.Getpid())+"\n"); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// there tells whether a file is the one at a path: the lock of one that was removed keeps nobody
// out.
func there(f *os.File, path string) bool {
	ours, err := f.Stat()
	at, serr := os.Stat(path)
	return err == nil && serr == nil && os.SameFile(ours, at)
}

// unlock gives a folder back. Closing alone would not do it while a process that is being started
// has our files for a moment.
func unlock(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

// seize takes the lock. A daemon that was killed as it started an agent leaves a process that holds
// the lock for a moment longer, so a lock whose owner is dead is waited for.
func seize(f *os.File) error {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Since(began) > deadOwner {
			return err
		}
		if pid, perr := strconv.Atoi(readHolder(f)); perr != nil || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			return err
		}
	}
}

// deadOwner is how long the lock of a dead daemon is waited for.
const deadOwner = 5 * time.Second

func readHolder(f *os.File) string {
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, 32))
	return strings.TrimSpace(string(text))
}

// note writes who holds the lock, for the message of whoever is refused.
func note(f *os.File, text string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(text), 0)
	return err
}
