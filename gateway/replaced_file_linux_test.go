package gateway_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/gateway/store"
)

// A file that the agent exchanges between the check and the copy is not sent, and the person is
// told once, although the message is stored again and again because of a full disk.
func TestAFileThatIsReplacedBeforeItIsCopiedIsNotSent(t *testing.T) {
	names := []string{"fifo", "folder", "link", "other", "gone", "empty", "full"}
	var media []string
	var script strings.Builder
	for _, n := range names {
		fmt.Fprintf(&script, "echo %s > %s.bin; ", n, n)
		media = append(media, `\"$PWD/`+n+`.bin\"`)
	}
	fx := newFixture(t, script.String()+`echo secret > secret; echo "{\"type\":\"message\",\"text\":\"look\",\"media\":[`+strings.Join(media, ",")+`]}"`)
	full := 3 // times that the disk is
	fx.wrapStore = func(s store.Store) store.Store {
		return slowSpool{s, func(path string) error {
			name := strings.TrimSuffix(filepath.Base(path), ".bin")
			switch name {
			case "full":
				if full--; full >= 0 {
					return fmt.Errorf("%w: %w", store.ErrUnavailable, unix.ENOSPC)
				}
				return nil
			case "empty":
				return os.Truncate(path, 0)
			}
			if err := os.Rename(path, path+".old"); err != nil { // so that its inode stays in use
				return err
			}
			switch name {
			case "fifo":
				return unix.Mkfifo(path, 0o600)
			case "folder":
				return os.Mkdir(path, 0o700)
			case "link":
				return os.Symlink(filepath.Join(filepath.Dir(path), "secret"), path)
			case "other":
				return os.WriteFile(path, []byte("another"), 0o600)
			}
			return nil
		}}
	}
	fx.start()
	fx.net.UserWrites("1", "u", "hi")
	told := fx.awaitText("1", "was not sent").Text
	fx.awaitIdle("1")
	for name, why := range map[string]string{
		"fifo": "it can no longer be read", "folder": "it can no longer be read", "link": "it can no longer be read",
		"other": "the agent changed it at once", "gone": "the agent removed it at once", "empty": "the agent changed it at once",
	} {
		if line := fmt.Sprintf("⚠ %q was not sent: %s.", name+".bin", why); strings.Count(told, line) != 1 {
			t.Errorf("told %q, not once %s", told, line)
		}
	}
	for _, c := range fx.net.Sent("1") {
		for name, content := range c.Files {
			if name != "full.bin" {
				t.Errorf("sent %s: %q", name, content)
			}
		}
		if c.Text != told && strings.Contains(c.Text, "was not sent") {
			t.Errorf("told again: %q", c.Text)
		}
	}
}
