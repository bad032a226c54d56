package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Options configures an audit log.
type Options struct {
	Path    string
	MaxSize int64 // bytes; the file is rotated before it grows larger
	Keep    int   // number of old files to keep
	Text    bool  // also write the texts of messages
	// Beside is for commands that run beside the daemon: they append, and leave rotation and repair
	// to the daemon.
	Beside bool
	// Failed, if not nil, is called with the first record that could not be written, and not again
	// until a write succeeds.
	Failed func(error)
}

// Log is an audit log. It is safe for concurrent use. A nil Log writes nothing.
type Log struct {
	o         Options
	mu        sync.Mutex
	file      *os.File        // nil: it could not be opened
	info      os.FileInfo     // of file, when it was opened
	described map[string]bool // the digests of the launches that file describes since it was opened
	lost      int             // records that could not be written since the last successful write
}

// Open opens or creates a log. An incomplete last line, left by a crash, is removed. A full disk is
// not an error, since there may be room later.
func Open(o Options) (*Log, error) {
	l := &Log{o: o}
	if err := l.open(); err != nil && !isFull(err) {
		return nil, err
	}
	return l, nil
}

// Write writes a record. It never fails: records that cannot be written are counted, so that turns
// do not wait for the log.
func (l *Log) Write(r Record) {
	if l == nil {
		return
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	records := []Record{r}
	if l.lost > 0 { // if there is no room for both, the gap is reported later
		records = []Record{{Time: r.Time, Event: Lost, Count: l.lost}, r}
	}
	err := l.write(records)
	if err == nil {
		l.lost = 0
		return
	}
	if l.lost++; l.lost == 1 && l.o.Failed != nil {
		l.o.Failed(err)
	}
}

// Close closes the file. There is nothing left to write.
func (l *Log) Close() {
	if l != nil && l.file != nil {
		_ = l.file.Close()
	}
}

// write writes records in one system call.
func (l *Log) write(records []Record) error {
	file := l.file
	defer l.unlock()
	lines, err := l.encode(records)
	if err != nil {
		return err
	}
	size, err := l.prepareWrite(int64(len(lines)))
	if size == 0 { // also if it was truncated in place
		clear(l.described)
	}
	if err == nil && (l.file != file || size == 0) { // a new file, which describes no launch yet
		lines, err = l.encode(records)
	}
	if err != nil {
		return err
	}
	n, err := l.file.Write(lines)
	if err != nil && n > 0 { // an incomplete line would corrupt the next one
		err = errors.Join(err, l.file.Truncate(size))
	}
	if launch := records[len(records)-1].Digest; err == nil && launch != "" {
		l.described[launch] = true
	}
	return err
}

// encode encodes records, and before them the launch of the last one if the file does not describe
// it yet.
func (l *Log) encode(records []Record) (lines []byte, err error) {
	if r := records[len(records)-1]; r.Digest != "" && !l.described[r.Digest] {
		records = append([]Record{{Time: r.Time, Event: Launched, Launch: r.Launch}}, records...)
	}
	for _, r := range records {
		if !l.o.Text {
			r.Text = ""
		}
		if r.Event != Launched && r.Digest != "" {
			r.Launch = Launch{Digest: r.Digest}
		}
		r.Time = r.Time.UTC().Truncate(time.Millisecond)
		line, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("write audit record: %w", err)
		}
		lines = append(append(lines, line...), '\n')
	}
	return lines, nil
}

// prepareWrite ensures that the right file is open and has room for a line, and returns its size.
// The file may have been moved away.
func (l *Log) prepareWrite(line int64) (int64, error) {
	if err := l.lock(); err != nil {
		return 0, err
	}
	there, err := l.file.Stat()
	if err != nil {
		return 0, err
	}
	size := there.Size()
	if l.o.Beside || size == 0 || size+line <= l.o.MaxSize {
		return size, nil
	}
	if err := l.rotate(); err != nil {
		return 0, err
	}
	return 0, l.lock()
}

// lock ensures that the right file is open, and locks it, so that nobody rewrites it until unlock.
func (l *Log) lock() error {
	for {
		if l.file != nil {
			err := retryInterrupted(func() error { return syscall.Flock(int(l.file.Fd()), syscall.LOCK_EX) })
			if err != nil {
				return fmt.Errorf("lock audit log: %w", err)
			}
			if there, err := os.Lstat(l.o.Path); err == nil && os.SameFile(l.info, there) {
				return nil
			}
		}
		if err := l.open(); err != nil {
			return err
		}
	}
}

func (l *Log) unlock() {
	if l.file != nil {
		_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	}
}

// retryInterrupted repeats a system call that a signal has interrupted.
func retryInterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func (l *Log) open() error {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
	if err := os.MkdirAll(filepath.Dir(l.o.Path), 0o700); err != nil {
		return fmt.Errorf("open audit log: %w", err)
	}
	// O_NONBLOCK prevents waiting for a pipe. The folder may belong to an agent, which must not
	// redirect the log.
	f, err := os.OpenFile(l.o.Path, os.O_CREATE|os.O_APPEND|os.O_RDWR|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return fmt.Errorf("open audit log: %s is a link; name the file itself in audit.file, or remove the link", l.o.Path)
	}
	if err != nil {
		return fmt.Errorf("open audit log: %w", err)
	}
	if err := l.checkFile(f); err != nil {
		_ = f.Close()
		return fmt.Errorf("open audit log: %w", err)
	}
	l.file, l.described = f, map[string]bool{}
	return nil
}

// checkFile checks and repairs a newly opened file.
func (l *Log) checkFile(f *os.File) (err error) {
	info, err := f.Stat()
	l.info = info
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", f.Name())
	case info.Mode().Perm() != 0o600:
		if err := f.Chmod(0o600); err != nil {
			return err
		}
	}
	if l.o.Beside {
		return nil
	}
	return removePartialLine(f, info.Size())
}

// removePartialLine truncates a file after its last complete line.
func removePartialLine(f *os.File, size int64) error {
	var block [4096]byte
	for end := size; ; {
		from := max(0, end-int64(len(block)))
		b := block[:end-from]
		if _, err := f.ReadAt(b, from); err != nil {
			return err
		}
		for i := len(b); i > 0; i-- {
			if b[i-1] == '\n' {
				from, b = from+int64(i), nil
				break
			}
		}
		if end = from; b == nil || end == 0 {
			if end == size {
				return nil
			}
			return f.Truncate(end)
		}
	}
}

// oldPath returns the path of the file that was rotated n times.
func (o Options) oldPath(n int) string {
	if n == 0 {
		return o.Path
	}
	return fmt.Sprintf("%s.%d", o.Path, n)
}

// rotate renames each file to the next number, and creates a new one.
func (l *Log) rotate() error {
	old := l.o.oldPath
	for n := l.o.Keep; os.Remove(old(n)) == nil && n > 0; n++ { // also files from when more of them were kept
	}
	for n := l.o.Keep - 1; n >= 0; n-- {
		if err := os.Rename(old(n), old(n+1)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("rotate audit log: %w", err)
		}
	}
	return l.open()
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
