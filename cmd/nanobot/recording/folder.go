package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"nanobot/gateway/store"
	"nanobot/internal/diskspace"
	"nanobot/internal/lazyregexp"
	"nanobot/terminal/cassette"
)

// Folder is a folder of cassettes. It may have other files, which stay.
type Folder string

// maxRecordings bounds the cassettes of one message: one for each attempt and each task.
const maxRecordings = 100

// ownName matches the names of the cassettes that create makes.
var ownName = lazyregexp.New(`^[0-9]+-[0-9a-f]{8}(-[0-9]+)?$`)

// path returns the path of the nth cassette of a message. run is the name of its turns, which is
// also unique if the numbers of messages begin again with a new state.
func (f Folder) path(inbound int64, run string, n int) string {
	name := fmt.Sprintf("%d-%s", inbound, run[:min(8, len(run))])
	if n > 1 {
		name += "-" + strconv.Itoa(n)
	}
	return filepath.Join(string(f), name+cassette.Suffix)
}

// parseRun returns the number of the message of a turn, whose ID may end with a task.
func parseRun(id string) (int64, error) {
	number, _, _ := strings.Cut(id, ".")
	return strconv.ParseInt(number, 10, 64)
}

// Check returns an error if the folder exists and others than its owner can use it.
func (f Folder) Check() error {
	info, err := os.Stat(string(f))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("is not a folder")
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("can be used by others: run chmod 700 %s", f)
	}
	return nil
}

// create creates the next cassette of a message.
func (f Folder) create(inbound int64, run string) (*tape, error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, err
	}
	if err := f.Check(); err != nil {
		return nil, fmt.Errorf("%s %w", f, err)
	}
	for n := 1; n <= maxRecordings; n++ {
		t := &tape{path: f.path(inbound, run, n)}
		switch err := t.open(os.O_CREATE | os.O_EXCL); {
		case err == nil:
			return t, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
	}
	return nil, errTooMany
}

// Open opens the last cassette of a message for reading. run is the name of the message's turns.
func (f Folder) Open(inbound store.Inbound, run string) (*os.File, error) {
	for n := maxRecordings; n > 0; n-- {
		file, err := os.OpenFile(f.path(inbound.ID, run, n), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err == nil {
			return file, checkRegular(file)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fs.ErrNotExist
}

// checkRegular closes a file and returns an error if it is no regular file.
func checkRegular(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", f.Name())
	}
	if err != nil {
		_ = f.Close()
	}
	return err
}

// list returns the names of the cassettes in the folder, without cassette.Suffix.
func (f Folder) list() (names []string, err error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), cassette.Suffix); ok && ownName().MatchString(name) && e.Type().IsRegular() {
			names = append(names, name)
		}
	}
	return names, err
}

// Prune removes the cassettes that have not changed since a time, and the oldest ones beyond a
// number; 0: there is no limit.
func (f Folder) Prune(ctx context.Context, age time.Duration, count int) error {
	names, err := f.list()
	if err != nil {
		return err
	}
	type entry struct {
		path    string
		changed time.Time
	}
	var all []entry
	for _, name := range names {
		path := filepath.Join(string(f), name+cassette.Suffix)
		if info, err := os.Lstat(path); err == nil {
			all = append(all, entry{path, info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(b.changed.UnixNano(), a.changed.UnixNano()) })
	var failures []error
	for i, e := range all {
		if (age > 0 && time.Since(e.changed) > age || count > 0 && i >= count) && ctx.Err() == nil {
			failures = append(failures, removeCassette(e.path))
		}
	}
	return errors.Join(failures...)
}

// removeCassette removes a cassette and its files. The cassette goes last, so that an interrupted
// removal is repeated.
func removeCassette(path string) error {
	err := os.RemoveAll(cassette.FilesDir(path))
	if err == nil {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// tape is the file of a cassette. It is closed at the end of the turn, and opened again for what is
// sent later.
type tape struct {
	path string

	mu    sync.Mutex
	file  *os.File
	ended bool
}

// open opens the file for appending. O_NONBLOCK prevents waiting for the reader of a FIFO.
func (t *tape) open(flags int) (err error) {
	file, err := os.OpenFile(t.path, flags|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	if err := checkRegular(file); err != nil {
		return err
	}
	t.file = file
	return nil
}

// Write appends a line.
func (t *tape) Write(line []byte) (n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		if err := t.open(0); err != nil {
			return 0, err
		}
	}
	n, err = diskspace.Writer(t.file).Write(line)
	if t.ended {
		err = errors.Join(err, t.file.Close())
		t.file = nil
	}
	return n, err
}

// close closes the file after the turn.
func (t *tape) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.file != nil {
		_ = t.file.Close() // each line was written
		t.file = nil
	}
}
