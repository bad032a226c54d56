package recording

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"nanobot/gateway/store"
	"nanobot/internal/diskspace"
	"nanobot/internal/lazyregexp"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
)

// Folder is a folder of cassettes. It may have other files, which stay.
type Folder string

// Folders are the folder with the cassettes of a daemon, and the one that it may have used earlier,
// which may be the same.
type Folders struct{ Used, Earlier Folder }

func (all Folders) list() []Folder { return slices.Compact([]Folder{all.Used, all.Earlier}) }

// Find returns the cassettes with something of a person, as Folder.Find.
func (all Folders) Find(p Person) (found []Found, err error) {
	for _, f := range all.list() {
		more, err := f.Find(p)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// Prune prunes each folder.
func (all Folders) Prune(ctx context.Context, age time.Duration, count int) error {
	var failures []error
	for _, f := range all.list() {
		failures = append(failures, f.Prune(ctx, age, count))
	}
	return errors.Join(failures...)
}

// Open opens the cassette of a message for reading. run is the name of the message's turns.
func (all Folders) Open(inbound store.Inbound, run string) (file *os.File, err error) {
	err = fs.ErrNotExist
	for _, f := range all.list() {
		if file, err = open(f.path(inbound.ID, run)); !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	return nil, err
}

// ownName matches the names of the cassettes that begin makes.
var ownName = lazyregexp.New(`^[0-9]+-[0-9a-f]{8}$`)

// path returns the path of the cassette of a message. run is the name of its turns, which is also
// unique if the numbers of messages begin again with a new state.
func (f Folder) path(inbound int64, run string) string {
	return filepath.Join(string(f), fmt.Sprintf("%d-%s", inbound, run[:min(8, len(run))])+cassette.Suffix)
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

// Path makes the folder and returns the path of the cassette of a turn.
func (f Folder) Path(req terminal.Request) (string, error) {
	inbound, err := parseRun(req.RunID)
	if err == nil {
		err = os.MkdirAll(string(f), 0o700)
	}
	if err != nil {
		return "", err
	}
	if err := f.Check(); err != nil {
		return "", fmt.Errorf("%s %w", f, err)
	}
	return f.path(inbound, req.RunName), nil
}

// beginTape opens the cassette of a turn and reports whether it is new.
func beginTape(path string) (t *tape, fresh bool, err error) {
	t = &tape{path: path}
	if err := t.open(os.O_CREATE); err != nil {
		return nil, false, err
	}
	size, err := dropPartialLine(t.file)
	if err != nil {
		t.close()
	}
	return t, size == 0, err
}

// dropPartialLine removes an incomplete last line, which a crash has left, and returns the size.
func dropPartialLine(f *os.File) (size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	block := make([]byte, 4096)
	for end := info.Size(); end > 0; {
		from := max(0, end-int64(len(block)))
		n, err := f.ReadAt(block[:end-from], from)
		if err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			size = from + int64(i) + 1
			break
		}
		end = from
	}
	return size, f.Truncate(size)
}

// open opens a cassette for reading.
func open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return file, checkRegular(file)
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
		name, ok := strings.CutSuffix(e.Name(), cassette.Suffix)
		if ok && ownName().MatchString(name) && e.Type().IsRegular() {
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
	file, err := os.OpenFile(t.path, flags|os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
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
		switch err := t.open(0); {
		case errors.Is(err, fs.ErrNotExist): // it was pruned, forgotten or recorded again
			return len(line), nil
		case err != nil:
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

// close closes the file after the turn. If the cassette was removed meanwhile, by forget or by the
// retention, the files that were copied since then go, too.
func (t *tape) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.file != nil {
		_ = t.file.Close() // each line was written
		t.file = nil
	}
	if _, err := os.Lstat(t.path); errors.Is(err, fs.ErrNotExist) {
		_ = removeCassette(t.path)
	}
}
