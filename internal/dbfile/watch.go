package dbfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrLost says that a file was removed or replaced, so that writes into it are lost.
var ErrLost = errors.New("was removed or replaced while it was in use")

// Watch checks files that are in use. Its first failure is final: from then on, none of the watched
// files may be used. It is safe for concurrent use.
type Watch struct {
	mu      sync.Mutex
	groups  []*Files
	failure error
	failed  chan struct{}
}

// NewWatch returns a watch without files.
func NewWatch() *Watch { return &Watch{failed: make(chan struct{})} }

// Failed returns a channel that is closed when the watch has failed. Err returns the reason.
func (w *Watch) Failed() <-chan struct{} { return w.failed }

// Err returns the reason of the failure, or nil.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure
}

// Fail ends the use of all watched files. Only the first reason counts, and is returned.
func (w *Watch) Fail(reason error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == nil {
		w.failure = reason
		close(w.failed)
	}
	return w.failure
}

// FailIfDamaged fails the watch if an error means that a database is damaged, and returns the
// explained error.
func (w *Watch) FailIfDamaged(path string, err error) error {
	if err = Explain(err); !errors.Is(err, ErrDamaged) {
		return err
	}
	// If the files were replaced, they are lost rather than damaged.
	if lost := w.Check(); errors.Is(lost, ErrLost) {
		return lost
	}
	return w.Fail(fmt.Errorf("%s: %w", path, err))
}

// Check checks all watched files.
func (w *Watch) Check() error {
	w.mu.Lock()
	groups := slices.Clone(w.groups)
	w.mu.Unlock()
	for _, f := range groups {
		if err := f.Check(); err != nil {
			return err
		}
	}
	return w.Err()
}

// Files is a group of watched files.
type Files struct {
	watch *Watch
	files []file
}

// file is the identity of the file at a path when the watch began.
type file struct {
	path     string
	dev, ino uint64
	database bool // it must not be empty
}

// Follow watches the files at the given paths. The inode number of an open file is not reused, so
// it identifies the file.
func (w *Watch) Follow(paths ...string) (*Files, error) {
	f := &Files{watch: w}
	for _, p := range paths {
		var s unix.Stat_t
		if err := unix.Stat(p, &s); err != nil {
			return nil, fmt.Errorf("check %s: %w", p, err)
		}
		f.files = append(f.files, file{p, device(&s), s.Ino, filepath.Ext(p) == ".db"})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.groups = append(w.groups, f)
	return f, nil
}

// Check returns nil while each path still leads to the same file. A path that cannot be checked at
// the moment is an error, but does not fail the watch.
func (f *Files) Check() error {
	if err := f.watch.Err(); err != nil {
		return err
	}
	for i := range f.files {
		if err := f.files[i].check(); errors.Is(err, ErrLost) || errors.Is(err, ErrDamaged) {
			return f.watch.Fail(err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (f *file) check() error {
	var s unix.Stat_t
	var err error
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Stat(f.path, &s)
	}
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ESTALE),
		errors.Is(err, unix.ELOOP):
		return fmt.Errorf("%s %w: %w", f.path, ErrLost, err)
	case err != nil:
		return fmt.Errorf("check %s: %w", f.path, err)
	case device(&s) != f.dev || s.Ino != f.ino:
		return fmt.Errorf("%s %w: another file is there now", f.path, ErrLost)
	case f.database && s.Size == 0:
		return fmt.Errorf("%s: %w", f.path, Damaged("it was emptied while it was in use"))
	}
	return nil
}

// device converts the device number, whose type differs between systems.
func device(s *unix.Stat_t) uint64 {
	return uint64(s.Dev) //nolint:unconvert,gosec // see above
}

// Err returns the reason of the watch's failure, or nil.
func (f *Files) Err() error { return f.watch.Err() }

// Forget ends the watch of these files.
func (f *Files) Forget() {
	if f == nil {
		return
	}
	f.watch.mu.Lock()
	defer f.watch.mu.Unlock()
	f.watch.groups = slices.DeleteFunc(f.watch.groups, func(g *Files) bool { return g == f })
}
