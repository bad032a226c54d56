package media_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/terminal/media"
)

// swappedFolder returns a folder, a symbolic link beside it, and a function that exchanges the two.
// Both lead to a file a.png; the one behind the link is longer.
func swappedFolder(t *testing.T) (folder, link string, exchange func() error) {
	t.Helper()
	if _, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{}); err != nil {
		t.Skip(err)
	}
	dir := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	root := filepath.Join(dir, "root")
	for name, content := range map[string]string{"root/folder": "x", "outside": "secret"} {
		musttest.Do(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name, "a.png"), []byte(content), 0o600))
	}
	folder, link = filepath.Join(root, "folder"), filepath.Join(root, "link")
	musttest.Do(t, os.Symlink("../outside", link))
	return folder, link, func() error { return unix.Renameat2(unix.AT_FDCWD, folder, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE) }
}

// inspect is the part of check after symbolic links were resolved.
func inspect(path string) (media.File, error) {
	f, err := media.Rules{}.CheckOwn(path)
	media.CloseAll(f)
	return f, err
}

func TestALinkCreatedAfterResolvingIsNotFollowed(t *testing.T) {
	folder, link, exchange := swappedFolder(t)
	path := filepath.Join(folder, "a.png")
	if f, err := inspect(path); err != nil || f.Size != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	musttest.Do(t, exchange())
	if f, err := inspect(path); !errors.Is(err, unix.ELOOP) {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := inspect(filepath.Join(link, "a.png")); err != nil || f.Size != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestAFolderReplacedByALinkDuringTheCheckIsNotFollowed(t *testing.T) {
	folder, _, exchange := swappedFolder(t)
	over := make(chan struct{})
	var agent sync.WaitGroup
	agent.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				if err := exchange(); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	good, refused := 0, 0
	for good < 3000 || refused < 3000 {
		f, err := check(media.Rules{Roots: []string{filepath.Dir(folder)}}, filepath.Join(folder, "a.png"))
		switch {
		case err != nil:
			refused++
		case f.Size != 1:
			t.Errorf("%+v", f)
			good += 3000
		default:
			good++
		}
	}
	close(over)
	agent.Wait()
}
