package channels_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"nanobot/channels"
	"nanobot/internal/musttest"
)

func TestTheTypeOfAFileIsThatOfItsNameOrItsContent(t *testing.T) {
	dir := t.TempDir()
	plain, pipe, held, link := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c"), filepath.Join(dir, "d")
	musttest.Do(t, os.WriteFile(plain, []byte("\x89PNG\r\n\x1a\n"), 0o600))
	musttest.Do(t, syscall.Mkfifo(pipe, 0o600))
	musttest.Do(t, syscall.Mkfifo(held, 0o600))
	musttest.Do(t, os.Symlink(plain, link))
	writer, err := os.OpenFile(held, os.O_RDWR, 0)
	musttest.Do(t, err)
	defer writer.Close()
	for _, c := range []struct{ path, name, want string }{
		{plain, "", "image/png"},
		{plain, "x.JPG", "image/jpeg"},
		{pipe, "", "text/plain"}, // an agent has replaced the file, which must not hang
		{held, "", "text/plain"},
		{link, "", "text/plain"},
		{filepath.Join(dir, "gone"), "", "text/plain"},
	} {
		if got := channels.TypeOf(c.path, c.name); got != c.want {
			t.Errorf("%s %s: %s instead of %s", filepath.Base(c.path), c.name, got, c.want)
		}
	}
}
