package nofollow_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/internal/nofollow"
)

func TestAPathWithALinkIsRefused(t *testing.T) {
	if _, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{}); err != nil {
		t.Skip(err)
	}
	dir := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	real := filepath.Join(dir, "real")
	musttest.Do(t, os.Mkdir(real, 0o700))
	musttest.Do(t, os.WriteFile(filepath.Join(real, "file"), []byte("text"), 0o600))
	for link, to := range map[string]string{"folder": "real", "file": "real/file"} {
		musttest.Do(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	for name, open := range map[string]func(string) (*os.File, error){"by openat2": nofollow.Open, "with a check first": nofollow.OpenChecked} {
		f, err := open(filepath.Join(real, "file"))
		if err != nil {
			t.Fatal(name, err)
		}
		defer f.Close()
		if b, err := io.ReadAll(f); string(b) != "text" || err != nil {
			t.Errorf("%s: read %q, %v", name, b, err)
		}
		for _, path := range []string{"folder/file", "file"} {
			if f, err := open(filepath.Join(dir, path)); !errors.Is(err, unix.ELOOP) {
				t.Errorf("%s: %s: %v, %v", name, path, f, err)
			}
		}
		if _, err := open(filepath.Join(dir, "gone")); !errors.Is(err, os.ErrNotExist) {
			t.Error(name, err)
		}
	}
}

func TestHasFolderRefusesLinksBelowTheParent(t *testing.T) {
	if _, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{}); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	musttest.Do(t, os.MkdirAll(filepath.Join(dir, "root", "a", "b"), 0o700))
	for link, to := range map[string]string{"linked": "root", "root/link": "a", "root/a/link": "b", "root/out": ".."} {
		musttest.Do(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "root", "a", "file"), nil, 0o600))
	for path, want := range map[string]bool{"a/b": true, "link/b": false, "a/link": false, "out": false, "../root/a": false, "a/file": false, "a/none": false} {
		for _, root := range []string{"root", "linked"} { // links in the path of the parent are allowed
			if got := nofollow.HasFolder(filepath.Join(dir, root), path); got != want {
				t.Errorf("%s in %s: %t", path, root, got)
			}
		}
	}
}

func TestChownLinkChangesOnlyLinks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a link away")
	}
	folder, dir := newFolder(t)
	if err := folder.ChownLink("to-file", 1234, 4321); err != nil {
		t.Error(err)
	}
	if err := folder.ChownLink("file", 1234, 4321); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a file: %v", err)
	}
	for name, want := range map[string]uint32{"to-file": 1234, "file": 0} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != want {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}
