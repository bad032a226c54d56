package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"nanobot/gateway/store/sqlite"
)

// stage is a temporary folder in the state, for one backup or restore at a time.
type stage struct {
	path string
	lock *os.File
}

// newStage makes the folder, and removes what an earlier process that was killed has left.
func newStage(state string) (*stage, error) {
	folder := filepath.Join(state, sqlite.Copies)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(folder, ".lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("another backup or restore of %s is under way: %w", state, err)
	}
	left, _ := filepath.Glob(filepath.Join(folder, stagePrefix+"*"))
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			_ = lock.Close()
			return nil, err
		}
	}
	path, err := os.MkdirTemp(folder, stagePrefix)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &stage{path, lock}, nil
}

func (s *stage) close() error { return errors.Join(os.RemoveAll(s.path), s.lock.Close()) }

// stageTree copies a file, or a folder with its content, while the daemon may change it. A path
// that does not exist is not copied.
func stageTree(from, to string) (err error) {
	for range stageTries {
		err = stageOnce(from, to)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if _, serr := os.Lstat(from); errors.Is(serr, fs.ErrNotExist) {
			return nil
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

func stageOnce(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(at, 0o700)
		case d.Type().IsRegular():
			return stageFile(path, at)
		}
		return nil // nothing of ours
	})
}

func stageFile(from, to string) error {
	src, err := os.OpenFile(from, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer src.Close()
	return storeFile(to, src)
}

// storeFile writes a new file and syncs it to disk.
func storeFile(path string, content io.Reader) error {
	dst, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, content)
	return errors.Join(err, dst.Sync(), dst.Close())
}
