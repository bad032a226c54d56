package dbfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrLost says that a file is not what its path names any more: it was removed or replaced. What is
// written into it nobody finds again.
var ErrLost = errors.New("was removed or replaced while it was in use")

// Watch follows files that are in use. Its first failure is final: from then on nothing of what it
// follows may be relied on, and whoever asks is told so. It is safe for concurrent use.
type Watch struct {
	mu      sync.Mutex
	groups  []*Files
	failure error
	failed  chan struct{}
}

// NewWatch returns a watch that follows nothing yet.
func NewWatch() *Watch { return &Watch{failed: make(chan struct{})} }

// Failed is closed when the watch has failed. Err says why.
func (w *Watch) Failed() <-chan struct{} { return w.failed }

// Err returns why the watch has failed, or nil.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure
}

// Fail ends the use of everything that is followed. Only the first reason counts, which is
// returned.
func (w *Watch) Fail(reason error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == nil {
		w.failure = reason
		close(w.failed)
	}
	return w.failure
}

// Judge makes an error that says that a database is damaged the failure of the watch, and returns
// it explained.
func (w *Watch) Judge(path string, err error) error {
	if err = Explain(err); !errors.Is(err, ErrDamaged) {
		return err
	}
	// Where the files were replaced, the damage is not theirs.
	if lost := w.Check(); errors.Is(lost, ErrLost) {
		return lost
	}
	return w.Fail(fmt.Errorf("%s: %w", path, err))
}

// Check looks at all files that are followed.
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

// Files are some of the files that a watch follows.
type Files struct {
	watch *Watch
	files []file
}

// file is what was at a path when it began to be followed.
type file struct {
	path     string
	dev, ino uint64
	database bool // it is never empty
}

// Follow follows what is at some paths now. While a file is in use its number is not given to
// another one.
func (w *Watch) Follow(paths ...string) (*Files, error) {
	f := &Files{watch: w}
	for _, p := range paths {
		var s unix.Stat_t
		if err := unix.Stat(p, &s); err != nil {
			return nil, fmt.Errorf("look at %s: %w", p, err)
		}
		f.files = append(f.files, file{p, device(&s), s.Ino, filepath.Ext(p) == ".db"})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.groups = append(w.groups, f)
	return f, nil
}

// Check returns nil while each path names the file that it did. A path that cannot be looked at
// just now is an error, and not the end.
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
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ESTALE), errors.Is(err, unix.ELOOP):
		return fmt.Errorf("%s %w: %w", f.path, ErrLost, err)
	case err != nil:
		return fmt.Errorf("look at %s: %w", f.path, err)
	case device(&s) != f.dev || s.Ino != f.ino:
		return fmt.Errorf("%s %w: another file is there now", f.path, ErrLost)
	case f.database && s.Size == 0:
		return fmt.Errorf("%s: %w", f.path, Damaged("it was emptied while it was in use"))
	}
	return nil
}

// device has another type on some systems.
func device(s *unix.Stat_t) uint64 {
	return uint64(s.Dev) //nolint:unconvert,gosec // see above
}

// Err returns why the watch has failed, or nil.
func (f *Files) Err() error { return f.watch.Err() }

// Forget ends the following of these files.
func (f *Files) Forget() {
	if f == nil {
		return
	}
	f.watch.mu.Lock()
	defer f.watch.mu.Unlock()
	f.watch.groups = slices.DeleteFunc(f.watch.groups, func(g *Files) bool { return g == f })
}
