package nofollow_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/nofollow"
)

// newFolder opens a folder with a file, a folder, a FIFO and links to them.
func newFolder(t *testing.T) (*nofollow.Folder, string) {
	t.Helper()
	dir := t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600),
		os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o700),
		syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
		os.Symlink("file", filepath.Join(dir, "to-file")),
		os.Symlink("sub", filepath.Join(dir, "to-sub")),
		os.Symlink("none", filepath.Join(dir, "to-none")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := musttest.Get(nofollow.OpenFolder(dir))(t)
	t.Cleanup(func() { _ = folder.Close() })
	return folder, dir
}

func TestAFolderNeverFollowsALinkToAnEntry(t *testing.T) {
	folder, _ := newFolder(t)
	for name, want := range map[string]error{
		"file": nil, "sub": nil, "fifo": nil, ".": nil, "to-file": syscall.ELOOP, "to-sub": syscall.ELOOP, "to-none": syscall.ELOOP,
		"none": os.ErrNotExist, "..": syscall.EINVAL, "sub/deep": syscall.EINVAL, "": syscall.EINVAL, "a\x00": syscall.EINVAL,
	} {
		f, err := folder.OpenFile(name, os.O_RDONLY, 0)
		if !errors.Is(err, want) || (f == nil) != (want != nil) {
			t.Errorf("open %q: %v", name, err)
		}
		if f != nil {
			_ = f.Close()
		}
	}
	for name, want := range map[string]error{
		"sub": nil, "file": nofollow.ErrNotFolder, "fifo": nofollow.ErrNotFolder, "to-sub": nofollow.ErrNotFolder, "to-none": nofollow.ErrNotFolder,
		"none": os.ErrNotExist, "..": syscall.EINVAL, "sub/deep": syscall.EINVAL,
	} {
		sub, err := folder.Sub(name)
		if !errors.Is(err, want) || (sub == nil) != (want != nil) {
			t.Errorf("folder %q: %v", name, err)
		}
		if sub != nil {
			_ = sub.Close()
		}
	}
	if f, err := folder.OpenFile("to-none", os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
		t.Errorf("%s was made behind a link", f.Name())
	}
}

func TestLstatDescribesALinkAndNotItsTarget(t *testing.T) {
	folder, dir := newFolder(t)
	for _, name := range []string{"file", "sub", "fifo", "to-file", "to-none"} {
		got, err := folder.Lstat(name)
		want, _ := os.Lstat(filepath.Join(dir, name))
		if err != nil || !os.SameFile(got, want) || got.Mode() != want.Mode() || got.Size() != want.Size() {
			t.Errorf("%s is %v: %v", name, got, err)
		}
	}
	if _, err := folder.Lstat("none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := folder.Lstat(".."); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	if to, err := folder.Readlink("to-sub"); to != "sub" || err != nil {
		t.Errorf("the link leads to %q: %v", to, err)
	}
	if to, err := folder.Readlink("file"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("the file leads to %q: %v", to, err)
	}
	root := musttest.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	same := musttest.Get(nofollow.OpenRootFolder(root))(t)
	defer same.Close()
	for _, f := range []*nofollow.Folder{folder, same} {
		self, err := f.Stat()
		if info, _ := os.Stat(dir); err != nil || !os.SameFile(self, info) {
			t.Errorf("%v, %v", self, err)
		}
		if _, err := f.Lstat("file"); err != nil {
			t.Error(err)
		}
	}
}

func TestEntriesOfAFolderAreMadeRenamedAndRemoved(t *testing.T) {
	folder, dir := newFolder(t)
	for _, err := range []error{
		folder.Mkdir("made", 0o700),
		folder.Rename("file", "to-file"), // in place of the link
		folder.Remove("to-none"),
		folder.Remove("to-sub"),
		folder.Symlink("../x", "link"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := folder.RemoveFolder("sub"); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Errorf("a folder with a folder in it: %v", err)
	}
	if err := folder.Remove("sub"); err == nil {
		t.Error("a folder was removed like a file")
	}
	if err := folder.Rename("to-file", "../out"); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	if err := folder.RemoveFolder("made"); err != nil {
		t.Error(err)
	}
	var names []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name()+" "+e.Type().String())
	}
	want := []string{"fifo p---------", "link L---------", "sub d---------", "to-file ----------"}
	if len(names) != len(want) {
		t.Fatalf("%q", names)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("%q", names)
		}
	}
}
