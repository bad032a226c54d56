package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/gateway/store/sqlite"
)

// An agent may put a link in the place of a folder after the file in it was checked.
func TestNoCopyIsMadeThroughALinkOnTheWay(t *testing.T) {
	if _, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{}); err != nil {
		t.Skip(err)
	}
	s := open(t, t.TempDir(), sqlite.Options{})
	defer closed(t, s)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	checked, private := filepath.Join(dir, "checked"), filepath.Join(dir, "private")
	for _, d := range []string{checked, private} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "a.txt"), []byte(d), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(checked, "a.txt")
	if _, err := s.Keep(ctx, file); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(private, link); err != nil {
		t.Fatal(err)
	}
	if err := unix.Renameat2(unix.AT_FDCWD, checked, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
		t.Skip(err)
	}
	if kept, err := s.Keep(ctx, file); !errors.Is(err, unix.ELOOP) {
		t.Errorf("kept %q: %v", kept, err)
	}
}
