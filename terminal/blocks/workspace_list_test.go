package blocks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/killtest"
	"nanobot/terminal/blocks"
)

func TestTheFilesOfAWorkspaceAreListed(t *testing.T) {
	w := newWorkspaceFixture(t)
	for _, path := range []string{"a-b", "a/b/c", "a/.git/config", ".git/HEAD", "b/.git", ".gitignore", ".hidden", "zz/ö", `back\slash`} {
		w.putFile("ws/"+path, path)
	}
	for path, target := range map[string]string{
		"link": "file", "b/abs": w.path("ws/sub/file"), "out": "../outside/file", "out-folder": "../outside", "folder": "sub", "none": "nothing", "to-note": "users/8/note", "to-config": "config.json",
	} {
		w.putLink(target, "ws/"+path)
	}
	w.must(syscall.Mkfifo(w.path("ws/fifo"), 0o600))
	w.must(os.Mkdir(w.path("ws/empty"), 0o700))
	if os.Geteuid() != 0 {
		w.putFile("ws/closed/file", "")
		w.must(os.Chmod(w.path("ws/closed"), 0))
		t.Cleanup(func() { _ = os.Chmod(w.path("ws/closed"), 0o700) })
	}
	want := []blocks.WorkspaceFile{
		{".gitignore", 10}, {".hidden", 7}, {"a-b", 3}, {"a/b/c", 5}, {"b/abs", 11}, {`back\slash`, 10}, {"file", 4}, {"link", 4}, {"sub/file", 11}, {"zz/ö", 5},
	}
	for most := range len(want) + 2 {
		shown, more, err := w.List(most)
		n := min(most, len(want))
		if err != nil || !slices.Equal(shown, want[:n]) || more != len(want)-n {
			t.Errorf("at most %d: %v, %d more: %v", most, shown, more, err)
		}
	}
	w.must(os.Link(w.path("ws/config.json"), w.path("ws/hard-config")))
	if shown, more, err := w.List(100); err != nil || !slices.Equal(shown, want) || more != 0 {
		t.Errorf("with another name of the config: %v, %d more: %v", shown, more, err)
	}
	w.env.Dir = w.path("ws/empty")
	w.reopen()
	if shown, more, err := w.List(5); len(shown) != 0 || more != 0 || err != nil {
		t.Errorf("an empty workspace has %v and %d more: %v", shown, more, err)
	}
}

func TestVeryDeepFoldersAreLeftOut(t *testing.T) {
	w := newWorkspaceFixture(t)
	deep := "ws"
	for range 300 {
		deep += "/d"
	}
	w.putFile(deep+"/file", "")
	if shown, more, err := w.List(100); len(shown)+more != 2 || err != nil {
		t.Errorf("%v, %d, %v", shown, more, err)
	}
}

func TestManyFilesAreListedInLittleMemory(t *testing.T) {
	w := newWorkspaceFixture(t)
	want := []string{"file"}
	n := killtest.Rounds(t, 10_000, 100_000)
	for i := range n {
		if i%100 == 0 {
			w.must(os.Mkdir(w.path(fmt.Sprintf("ws/%04d", i/100)), 0o700))
		}
		path := fmt.Sprintf("%04d/%s%d", i/100, strings.Repeat("long", 10), i)
		want = append(want, path)
		w.must(syscall.Mknod(filepath.Join(w.path("ws"), path), syscall.S_IFREG|0o600, 0))
	}
	want = append(want, "sub/file")
	slices.Sort(want)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	shown, more, err := w.List(1000)
	runtime.ReadMemStats(&after)
	w.must(err)
	if len(shown) != 1000 || more != n+2-1000 {
		t.Fatalf("%d shown, %d more", len(shown), more)
	}
	for i, f := range shown {
		if f.Path != want[i] {
			t.Fatalf("number %d is %s, not %s", i, f.Path, want[i])
		}
	}
	// The names in a folder are garbage soon; files in the listing take more memory.
	if used := after.TotalAlloc - before.TotalAlloc; used > 10<<20+uint64(n)*200 {
		t.Errorf("%d bytes were allocated", used)
	}
}
