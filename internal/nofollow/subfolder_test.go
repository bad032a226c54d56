package nofollow_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/nofollow"
)

func TestOnlyAFolderIsOpenedAsASubfolder(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"root/real", "outside"} {
		musttest.Do(t, os.MkdirAll(filepath.Join(dir, d), 0o700))
	}
	root := musttest.Get(os.OpenRoot(filepath.Join(dir, "root")))(t)
	defer root.Close()
	for link, to := range map[string]string{"within": "real", "out": "../outside", "nowhere": "none"} {
		musttest.Do(t, root.Symlink(to, link))
	}
	musttest.Do(t, root.WriteFile("file", nil, 0o600))
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
