package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"nanobot/internal/dbfile"
)

// Lines returns the lines of a log, also of its rotated files, that a function selects.
func Lines(o Options, selects func(Record) bool) (found []json.RawMessage, err error) {
	return found, eachFile(o, func(path string) error {
		content, err := os.ReadFile(path)
		for line := range bytes.Lines(content) {
			if isSelected(line, selects) {
				found = append(found, bytes.TrimSpace(line))
			}
		}
		return err
	})
}

// RemoveLines removes the lines that a function selects, while a daemon may write to the log. Each
// file is replaced as a whole. It returns how many lines it has removed.
func RemoveLines(o Options, selects func(Record) bool) (removed int, err error) {
	return removed, eachFile(o, func(path string) error {
		n, err := rewrite(path, selects)
		removed += n
		return err
	})
}

// eachFile calls f with the paths of the files of a log. Meanwhile nobody writes or rotates them.
func eachFile(o Options, f func(path string) error) error {
	_, err := os.Lstat(o.Path)
	_, oldErr := os.Lstat(o.oldPath(1))
	if o.Path == "" || errors.Is(err, fs.ErrNotExist) && errors.Is(oldErr, fs.ErrNotExist) {
		return nil
	}
	o.Beside = true
	l := &Log{o: o}
	if err := l.lock(); err != nil {
		return err
	}
	defer l.Close()
	for n := 0; ; n++ {
		path := o.oldPath(n)
		if _, err := os.Lstat(path); err != nil {
			return nil
		}
		if err := f(path); err != nil {
			return fmt.Errorf("read or rewrite audit log: %w", err)
		}
	}
}

func isSelected(line []byte, selects func(Record) bool) bool {
	var r Record
	return json.Unmarshal(line, &r) == nil && selects(r)
}

// rewrite replaces a file by one without the selected lines, and without an incomplete last line.
func rewrite(path string, selects func(Record) bool) (removed int, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	left := make([]byte, 0, len(content))
	for line := range bytes.Lines(content) {
		if isSelected(line, selects) {
			removed++
		} else if bytes.HasSuffix(line, []byte("\n")) {
			left = append(left, line...)
		}
	}
	if removed == 0 {
		return 0, nil
	}
	temporary := path + ".new"
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = f.Write(left)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(temporary))
	}
	return removed, dbfile.SyncFolder(filepath.Dir(path))
}
