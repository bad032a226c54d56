package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/atomicfile"
	"nanobot/internal/nofollow"
)

func TestAFileIsReplacedInOneStep(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	folder, err := nofollow.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for i, in := range []atomicfile.Folder{root, folder} {
		for _, name := range []string{"f", strings.Repeat("ö", 127)} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
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
	if err := os.MkdirAll(filepath.Join(dir, "folder", "in"), 0o700); err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(old, 1234, 4321); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(old, 0o751|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	was, err := os.Stat(old)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := atomicfile.CopyAccess(f, was); err != nil {
		t.Fatal(err)
	}
	got, _ := f.Stat()
	a, b := was.Sys().(*syscall.Stat_t), got.Sys().(*syscall.Stat_t)
	if got.Mode() != 0o751 || a.Uid != b.Uid || a.Gid != b.Gid {
		t.Errorf("mode %v, owner %d:%d", got.Mode(), b.Uid, b.Gid)
	}
}
