package web_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"nanobot/channels"
)

// What the spool keeps without its holes is copied once more for browsers.
func TestASparseFileStaysSparseInTheHistory(t *testing.T) {
	r := newFixture(t)
	const size = 2 << 30
	path := filepath.Join(t.TempDir(), "sparse.bin")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Sys().(*syscall.Stat_t).Blocks > 1<<11 {
		t.Skip("this file system has no holes")
	}
	m := answerTo("web-x", "look")
	m.Media = []channels.File{{Path: path, Name: "sparse.bin", Size: size}}
	r.sendAsBot(m, "key")
	var used, found int64
	err := filepath.Walk(filepath.Join(r.dir, "state"), func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			used += info.Sys().(*syscall.Stat_t).Blocks * 512
			if info.Size() == size {
				found++
			}
		}
		return err
	})
	if err != nil || found != 1 || used > 16<<20 {
		t.Errorf("%d copies take %d bytes (%v)", found, used, err)
	}
}

func TestFileLimitIsTheLargestFileThatABrowserCanFetch(t *testing.T) {
	if most, words := newFixture(t).ch.FileLimit(channels.Chat{}, ""); most != 2<<30 || words != "files here may have up to 2048 MB" {
		t.Errorf("%d, %q", most, words)
	}
}
