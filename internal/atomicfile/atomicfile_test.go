package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/atomicfile"
	"nanobot/internal/musttest"
	"nanobot/internal/nofollow"
)

func TestAFileIsReplacedInOneStep(t *testing.T) {
	dir := t.TempDir()
	root := musttest.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	folder := musttest.Get(nofollow.OpenFolder(dir))(t)
	defer folder.Close()
	for i, in := range []atomicfile.Folder{root, folder} {
		for _, name := range []string{"f", strings.Repeat("ö", 127)} {
			path := filepath.Join(dir, name)
			musttest.Do(t, os.WriteFile(path, []byte("old"), 0o600))
			write := func(f *os.File) error {
				_, err := f.WriteString("new")
				if got, _ := os.ReadFile(path); string(got) != "old" {
					t.Errorf("%d: while the file is written it has %q", i, got)
				}
				return err
			}
			full := func(f *os.File) error { return errors.Join(write(f), syscall.ENOSPC) }
			if err := atomicfile.Replace(in, name, full); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%d: %v", i, err)
			}
			if got, _ := os.ReadFile(path); string(got) != "old" {
				t.Errorf("%d: after a failure it has %q", i, got)
			}
			if err := atomicfile.Replace(in, name, write); err != nil {
				t.Fatal(i, err)
			}
			if got, _ := os.ReadFile(path); string(got) != "new" {
				t.Errorf("%d: it has %q", i, got)
			}
		}
	}
	musttest.Do(t, os.MkdirAll(filepath.Join(dir, "folder", "in"), 0o700))
	if err := atomicfile.Replace(root, "folder", func(*os.File) error { return nil }); err == nil {
		t.Error("a folder was replaced")
	}
	if err := atomicfile.Replace(root, "folder/in/f", func(*os.File) error { return nil }); err != nil {
		t.Error(err)
	}
	for _, pattern := range []string{"/.*", "/folder/.*", "/folder/in/.*"} {
		if left, _ := filepath.Glob(dir + pattern); len(left) != 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

func TestAReplacedFileKeepsItsOwnerAndPermissions(t *testing.T) {
	dir := t.TempDir()
	old, path := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	musttest.Do(t, os.WriteFile(old, nil, 0o600))
	if os.Geteuid() == 0 {
		musttest.Do(t, os.Chown(old, 1234, 4321))
	}
	musttest.Do(t, os.Chmod(old, 0o751|os.ModeSetuid))
	was := musttest.Get(os.Stat(old))(t)
	f := musttest.Get(os.Create(path))(t)
	defer f.Close()
	musttest.Do(t, atomicfile.CopyAccess(f, was))
	got, _ := f.Stat()
	a, b := was.Sys().(*syscall.Stat_t), got.Sys().(*syscall.Stat_t)
	if got.Mode() != 0o751 || a.Uid != b.Uid || a.Gid != b.Gid {
		t.Errorf("mode %v, owner %d:%d", got.Mode(), b.Uid, b.Gid)
	}
}
