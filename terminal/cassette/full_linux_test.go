package cassette_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
)

// The disk may be that of the state, which needs the rest.
func TestAFileThatWouldFillTheDiskIsNotCopied(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(t.TempDir(), "large")
	musttest.Do(t, os.WriteFile(path, make([]byte, 7900<<10), 0o600)) // it fits
	w := cassette.NewWriter(cassette.WriterOptions{Out: &bytes.Buffer{}, FilesDir: filepath.Join(dir, "x.files")})
	w.Envelope(terminal.Envelope{Media: []string{path}})
	wanttest.Equal(t, "full", errors.Is(w.Err(), unix.ENOSPC), true)
	wanttest.Equal(t, "files", len(musttest.Get(os.ReadDir(filepath.Join(dir, "x.files")))(t)), 0)
}
