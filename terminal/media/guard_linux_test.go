package media_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/terminal/media"
)

// check checks a file that an agent sends, and closes it.
func check(r media.Rules, path string) (media.File, error) {
	f, err := r.Check(path)
	media.CloseAll(f)
	return f, err
}

// chatFile writes a file into the folder of a chat and returns its path.
func chatFile(t *testing.T, workspace, chat, name, content string) string {
	t.Helper()
	path := filepath.Join(workspace, "users", chat, name)
	musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	musttest.Do(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// A file is not sent if the search for its hard links takes too long or is not possible.
func TestAHardLinkIsRefusedWhenTheSearchTakesTooLong(t *testing.T) {
	workspace := t.TempDir()
	for i := range 20 {
		chatFile(t, workspace, "7", fmt.Sprint(i), "x")
	}
	musttest.Do(t, os.Link(chatFile(t, workspace, "7", "z.png", "of chat 7"), filepath.Join(workspace, "hard.png")))
	musttest.Do(t, os.Mkdir(filepath.Join(workspace, "users/8"), 0o700))
	plain := filepath.Join(workspace, "plain.png")
	musttest.Do(t, os.WriteFile(plain, []byte("x"), 0o600))
	users := filepath.Join(workspace, "users")
	g := media.Guard{Chats: []media.ChatFolders{{Parent: users, Own: filepath.Join(users, "8")}}}
	for limit, why := range map[int]string{5: "several names", 0: "belongs to another chat"} {
		g.Limit = limit
		if f, err := check(media.Rules{Roots: []string{workspace}, Guard: g}, filepath.Join(workspace, "hard.png")); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("limit %d: %+v, %v", limit, f, err)
		}
		if _, err := check(media.Rules{Roots: []string{workspace}, Guard: g}, plain); err != nil {
			t.Error(err)
		}
	}
}

// An agent may exchange two symbolic links, to its own file and to one of another chat, as fast as
// possible.
func TestALinkThatChangesWhileAFileIsCheckedLeadsToNoOtherChat(t *testing.T) {
	if _, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{}); err != nil {
		t.Skip(err)
	}
	workspace := t.TempDir()
	mine, other := chatFile(t, workspace, "8", "a.png", "m"), chatFile(t, workspace, "7", "a.png", "of chat 7")
	one, two := filepath.Join(workspace, "one.png"), filepath.Join(workspace, "two.png")
	musttest.Do(t, os.Symlink(mine, one))
	musttest.Do(t, os.Symlink(other, two))
	g := media.Guard{Chats: []media.ChatFolders{{Parent: filepath.Join(workspace, "users"), Own: filepath.Dir(mine)}}}
	over := make(chan struct{})
	var agent sync.WaitGroup
	agent.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, two, unix.RENAME_EXCHANGE); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for good, refused := 0, 0; (good < 1000 || refused < 1000) && !t.Failed(); {
		f, err := check(media.Rules{Roots: []string{workspace}, Guard: g}, one)
		switch {
		case err != nil:
			refused++
		case f.Size != 1:
			t.Errorf("%+v", f)
		default:
			good++
		}
	}
	close(over)
	agent.Wait()
}
