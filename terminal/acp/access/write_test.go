package access

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestAFileIsWrittenWithItsModeAndItsFolders(t *testing.T) {
	t.Parallel()
	w := newFileFixture(t)
	script := w.Dir + "/script"
	w.putFile(script, "old")
	if err := os.Chmod(script, 0o751); err != nil {
		t.Fatal(err)
	}
	text := "größer\x00\r\n"
	if err := w.callWrite(script, text); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(script); info.Mode() != 0o751 {
		t.Errorf("mode %v", info.Mode())
	}
	if got, _ := os.ReadFile(script); string(got) != text {
		t.Errorf("has %q", got)
	}
	deep := w.Dir + "/a/b/c/" + strings.Repeat("n", 250)
	if err := w.callWrite(deep, ""); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(deep); err != nil || info.Size() != 0 || info.Mode().Perm()&0o600 != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if found, _ := filepath.Glob(w.Dir + "/a/b/c/.*"); len(found) != 0 {
		t.Errorf("left behind: %v", found)
	}
	if os.Geteuid() == 0 {
		return // whom nothing is forbidden
	}
	if err := os.Chmod(script, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := w.callWrite(script, "x"); err == nil || !strings.Contains(err.Message, "permission denied") {
		t.Errorf("a file that must not be written was: %v", err)
	}
}

func TestAReaderSeesTheOldTextOrTheNewOne(t *testing.T) {
	t.Parallel()
	w := newFileFixture(t)
	path := w.Dir + "/changing"
	texts := []string{strings.Repeat("a", 60_000), strings.Repeat("b", 40_000)}
	w.putFile(path, texts[0])
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != texts[0] && string(got) != texts[1] {
				t.Errorf("%d bytes, %v", len(got), err)
				return
			}
		}
	})
	for i := range 50 {
		if err := w.callWrite(path, texts[i%2]); err != nil {
			t.Error(err)
		}
	}
	close(done)
	reader.Wait()
	if left, _ := filepath.Glob(w.Dir + "/.changing*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestALinkCreatedBeforeAWriteIsNotFollowed(t *testing.T) {
	t.Parallel()
	w := newFileFixture(t)
	at, err := resolveFile(w.ExecEnv, w.Dir+"/sub/file")
	if err != nil {
		t.Fatal(err)
	}
	defer at.close()
	if err := os.RemoveAll(w.Dir + "/sub"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(w.outside, w.Dir+"/sub"); err != nil {
		t.Fatal(err)
	}
	w.putFile(w.outside+"/file", "SECRET")
	if f, err := at.open(); err == nil {
		_ = f.Close()
		t.Error("read through the link")
	}
	if err := at.write("x"); err == nil {
		t.Error("written through the link")
	}
	if got, _ := os.ReadFile(w.outside + "/file"); string(got) != "SECRET" {
		t.Errorf("outside has %q", got)
	}
}
