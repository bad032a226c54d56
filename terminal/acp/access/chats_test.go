package access

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/terminal/media"
)

// The gateway reads and writes files for an agent and has no sandbox itself, so it must check
// paths.
func TestNoFileOfAnotherChatIsReadOrWrittenForAnAgent(t *testing.T) {
	t.Parallel()
	w := newFileFixture(t)
	users := filepath.Join(w.Dir, "users")
	for _, dir := range []string{"users/7", "users/8", ".state/deep"} {
		if err := os.MkdirAll(filepath.Join(w.Dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	other, mine := filepath.Join(users, "7", "note"), filepath.Join(users, "8", "note")
	w.putFile(other, "SECRET")
	w.putFile(mine, "mine")
	w.putFile(filepath.Join(w.Dir, ".state/deep/db"), "SECRET")
	for link, to := range map[string]string{"users/8/folder": "../7", "users/8/file": other} {
		if err := os.Symlink(to, filepath.Join(w.Dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"users/8/hard": other, "hard-state": filepath.Join(w.Dir, ".state/deep/db")} {
		if err := os.Link(to, filepath.Join(w.Dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	w.Chats = []media.ChatFolders{{Parent: users, Own: filepath.Join(users, "8")}}
	for _, path := range []string{other, mine + "/../../7/note", users + "/8/folder/note", users + "/8/file", users + "/7/none", users + "/9/none"} {
		if got, err := w.callRead(map[string]any{"path": path}); err == nil || !strings.Contains(err.Message, "belongs to another chat") {
			t.Errorf("read %s: %q, %v", path, got, err)
		}
		if err := w.callWrite(path, "OVERWRITTEN"); err == nil || !strings.Contains(err.Message, "belongs to another chat") {
			t.Errorf("write %s: %v", path, err)
		}
	}
	for _, path := range []string{users + "/8/hard", w.Dir + "/hard-state"} {
		if got, err := w.callRead(map[string]any{"path": path}); err == nil {
			t.Errorf("read %s: %q", path, got)
		}
	}
	if got, err := w.callRead(map[string]any{"path": mine}); err != nil || got != "mine" {
		t.Errorf("one's own: %q, %v", got, err)
	}
	if err := w.callWrite(mine, "changed"); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(other); string(got) != "SECRET" {
		t.Errorf("the other chat's file has %q", got)
	}
}
