package runbook_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/gateway/runbook"
	"nanobot/internal/musttest"
)

func TestOnlyRegularFilesOfTheFolderAreRunbooks(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.md")
	musttest.Do(t, os.WriteFile(secret, []byte("# Secret\n\nof another chat\n"), 0o600))
	musttest.Do(t, os.Symlink(secret, filepath.Join(dir, "link.md")))
	musttest.Do(t, syscall.Mkfifo(filepath.Join(dir, "fifo.md"), 0o600))
	for name, want := range map[string]string{"link": "is a link", "fifo": "not a regular file", "none": "no such file", "../secret": "not a runbook's name"} {
		text, _, err := runbook.Folder(dir).Read(name)
		if err == nil || !strings.Contains(err.Error(), want) || text != "" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
