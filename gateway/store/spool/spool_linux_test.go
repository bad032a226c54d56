package spool_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/gateway/store/storetest"
	"nanobot/internal/musttest"
	"nanobot/internal/nofollow"
)

// An agent may replace a folder by a symbolic link after the file in it was checked.
func TestNoCopyFollowsASymbolicLinkInThePath(t *testing.T) {
	if _, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{}); err != nil {
		t.Skip(err)
	}
	s := openSpool(t, t.TempDir())
	dir := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	checked, private := filepath.Join(dir, "checked"), filepath.Join(dir, "private")
	for _, d := range []string{checked, private} {
		musttest.Do(t, os.Mkdir(d, 0o700))
		musttest.Do(t, os.WriteFile(filepath.Join(d, "a.txt"), []byte(d), 0o600))
	}
	file := filepath.Join(checked, "a.txt")
	musttest.Get(storetest.SaveCopy(t.Context(), s, file, 0))(t)
	link := filepath.Join(dir, "link")
	musttest.Do(t, os.Symlink(private, link))
	if err := unix.Renameat2(unix.AT_FDCWD, checked, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
		t.Skip(err)
	}
	if kept, err := storetest.SaveCopy(t.Context(), s, file, 0); !errors.Is(err, unix.ELOOP) {
		t.Errorf("kept %q: %v", kept, err)
	}
}

// The error that a person reads must not reveal anything about files that the agent may not see.
func TestASymbolicLinkCreatedAfterTheCheckRevealsNothingOfItsTarget(t *testing.T) {
	if _, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{}); err != nil {
		t.Skip(err)
	}
	s := openSpool(t, t.TempDir())
	for name, hidden := range map[string]func(folder string) error{
		"a file":   func(folder string) error { return os.WriteFile(filepath.Join(folder, "a.txt"), []byte("x"), 0o600) },
		"a folder": func(folder string) error { return os.Mkdir(filepath.Join(folder, "a.txt"), 0o700) },
		"nothing":  func(string) error { return nil },
	} {
		dir := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
		own, private := filepath.Join(dir, "own"), filepath.Join(dir, "private")
		for _, folder := range []string{own, private} {
			musttest.Do(t, os.Mkdir(folder, 0o700))
		}
		musttest.Do(t, errors.Join(os.WriteFile(filepath.Join(own, "a.txt"), []byte("own"), 0o600), hidden(private)))
		file, err := nofollow.Open(filepath.Join(own, "a.txt")) // as the check does
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		musttest.Do(t, errors.Join(os.Rename(own, own+"-away"), os.Symlink(private, own)))
		if kept, err := s.SaveCopy(t.Context(), file, 0); !errors.Is(err, unix.ELOOP) {
			t.Errorf("%s is there: kept %q: %v", name, kept, err)
		}
	}
}

// An agent may exchange a folder and a symbolic link as fast as it can.
func TestNoCopyFollowsASymbolicLinkThatIsSwappedInRepeatedly(t *testing.T) {
	if _, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{}); err != nil {
		t.Skip(err)
	}
	s := openSpool(t, t.TempDir())
	dir := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	for _, name := range []string{"folder", "private"} {
		musttest.Do(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name, "a.txt"), []byte(name), 0o600))
	}
	folder, link := filepath.Join(dir, "folder"), filepath.Join(dir, "link")
	musttest.Do(t, os.Symlink("private", link))
	over := make(chan struct{})
	var agent sync.WaitGroup
	agent.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, folder, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	made, refused := 0, 0
	for made < 200 || refused < 200 {
		kept, err := storetest.SaveCopy(t.Context(), s, filepath.Join(folder, "a.txt"), 0)
		if err != nil {
			refused++
			continue
		}
		made++
		path := musttest.Get(s.Fetch(t.Context(), kept))(t)
		if b, err := os.ReadFile(path); string(b) != "folder" {
			t.Errorf("a copy of %q was made: %v", b, err)
			break
		}
	}
	close(over)
	agent.Wait()
}
