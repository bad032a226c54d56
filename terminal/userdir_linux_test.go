package terminal_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// An agent exchanges the folder of its chat, or that of all chats, with a symbolic link as fast as
// possible. The link leads out of the workspace or to another chat.
func TestAFolderReplacedByALinkIsNotFollowed(t *testing.T) {
	for which, to := range map[string]string{"users": "../outside", "users/chat": "../../outside", "./users/chat": "other"} {
		t.Run(which+" "+to, func(t *testing.T) {
			dir := t.TempDir()
			workspace, outside := filepath.Join(dir, "workspace"), filepath.Join(dir, "outside")
			folder, link := filepath.Join(workspace, which), filepath.Join(workspace, "link")
			for _, dir := range []string{filepath.Join(workspace, "users", "chat"), filepath.Join(workspace, "users", "other"), filepath.Join(outside, "chat")} {
				musttest.Do(t, os.MkdirAll(dir, 0o700))
			}
			musttest.Do(t, os.Symlink(to, link))
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
			opened, refused := 0, 0
			for opened < 3000 || refused < 3000 {
				root, err := terminal.UserRoot(workspace, "net", "chat")
				if err != nil {
					refused++
					continue
				}
				opened++
				if f, err := root.Create("file"); err == nil {
					_ = f.Close()
				}
				_ = root.Close()
			}
			close(over)
			agent.Wait()
			for _, path := range []string{"outside/file", "outside/chat/file", "workspace/users/other/file"} {
				if _, err := os.Lstat(filepath.Join(dir, path)); err == nil {
					t.Errorf("%s was written", path)
				}
			}
		})
	}
}
