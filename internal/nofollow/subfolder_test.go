package nofollow_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"nanobot/internal/nofollow"
)

func TestOnlyAFolderIsOpenedAsASubfolder(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"root/real", "outside"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(filepath.Join(dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for link, to := range map[string]string{"within": "real", "out": "../outside", "nowhere": "none"} {
		if err := root.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := root.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"real": nil, "within": nofollow.ErrNotFolder, "out": nofollow.ErrNotFolder, "nowhere": nofollow.ErrNotFolder, "file": nofollow.ErrNotFolder,
		"none": os.ErrNotExist,
	} {
		sub, err := nofollow.OpenSubfolder(root, name)
		if !errors.Is(err, want) || (sub == nil) != (want != nil) {
			t.Errorf("%s: %v, %v", name, sub, err)
		}
		if sub != nil {
			_ = sub.Close()
		}
	}
}
