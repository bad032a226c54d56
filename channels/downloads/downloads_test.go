package downloads_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"nanobot/channels/channelstest"
	"nanobot/channels/downloads"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func openFolder(t *testing.T, b *downloads.Folders) *downloads.Folder {
	t.Helper()
	f := musttest.Get(b.Open("chat"))(t)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func text(s string) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := io.WriteString(to, s)
		return err
	}
}

// checkFiles fails unless a folder has just these files.
func checkFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	files := musttest.Get(os.ReadDir(dir))(t)
	for _, f := range files {
		if got, err := os.ReadFile(filepath.Join(dir, f.Name())); err != nil || want[f.Name()] != string(got) {
			t.Errorf("%s holds %q, %v; want %q", f.Name(), got, err, want[f.Name()])
		}
	}
	if len(files) != len(want) {
		t.Errorf("there are %v", files)
	}
}

func TestAFileAppearsWhenItIsCompleteUnderANameOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, downloads.New("net", channelstest.ChatFolders(dir)))
	here := filepath.Join(dir, "chat")
	var paths []string
	for _, s := range []string{"one", "three", "ONE", "longer"} { // ONE is as long as one, so it is taken for it
		saved := musttest.Get(f.Save("1-a.txt", func(to io.Writer) error {
			if _, err := os.Stat(filepath.Join(here, "1-a.txt")); len(paths) == 0 && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("half a file is there: %v", err)
			}
			return text(s)(to)
		}))(t)
		paths = append(paths, filepath.Base(saved.Path))
	}
	wanttest.Equal(t, "the paths are", strings.Join(paths, " "), "1-a.txt 1-a-2.txt 1-a.txt 1-a-3.txt")
	if path, ok := f.Find("1-a.txt", 3); !ok || path != filepath.Join(here, "1-a.txt") {
		t.Errorf("found %s, %t", path, ok)
	}
	if _, ok := f.Find("1-a.txt", 4); ok {
		t.Error("a file of another length was found")
	}
	broken := errors.New("the line broke")
	if _, err := f.Save("2-b.txt", func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	checkFiles(t, here, map[string]string{"1-a.txt": "one", "1-a-2.txt": "three", "1-a-3.txt": "longer"})
}

func TestPartialDownloadsOfAnEarlierProcessAreRemovedOnce(t *testing.T) {
	dir := t.TempDir()
	here := filepath.Join(dir, "chat")
	musttest.Do(t, os.MkdirAll(here, 0o700))
	for _, name := range []string{".download-XYZ", "mine"} {
		musttest.Do(t, os.WriteFile(filepath.Join(here, name), []byte("x"), 0o600))
	}
	b := downloads.New("net", channelstest.ChatFolders(dir))
	f := openFolder(t, b)
	checkFiles(t, here, map[string]string{"mine": "x"})
	_, err := f.Save("new", func(to io.Writer) error {
		openFolder(t, b) // while this one is written
		return text("y")(to)
	})
	if err != nil {
		t.Error(err)
	}
	checkFiles(t, here, map[string]string{"mine": "x", "new": "y"})
}

func TestSymbolicLinksAreNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	f := openFolder(t, downloads.New("net", channelstest.ChatFolders(dir)))
	secret := filepath.Join(outside, "secret")
	musttest.Do(t, os.WriteFile(secret, []byte("keep"), 0o600))
	here := filepath.Join(dir, "chat")
	musttest.Do(t, os.Symlink(secret, filepath.Join(here, "1-a.txt")))
	if saved, err := f.Save("1-a.txt", text("evil")); err != nil || filepath.Base(saved.Path) != "1-a-2.txt" {
		t.Errorf("beside a link: %s, %v", saved.Path, err)
	}
	// The whole folder is exchanged for a link while the file comes in.
	_, err := f.Save("2-b.txt", func(to io.Writer) error {
		musttest.Do(t, errors.Join(os.Rename(here, here+"-moved"), os.Symlink(outside, here)))
		return text("evil")(to)
	})
	if err != nil {
		t.Error(err)
	}
	checkFiles(t, outside, map[string]string{"secret": "keep"})
	checkFiles(t, here+"-moved", map[string]string{"1-a.txt": "keep", "1-a-2.txt": "evil", "2-b.txt": "evil"})
}

func TestParallelDownloadsOfOneNameGetDifferentNames(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, downloads.New("net", channelstest.ChatFolders(dir)))
	want := map[string]string{}
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range 20 {
		all.Go(func() {
			s := strings.Repeat("x", i)
			saved, err := f.Save("a", text(s))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			want[filepath.Base(saved.Path)] = s
		})
	}
	all.Wait()
	wanttest.Equal(t, "names for 20 files:", len(want), 20)
	checkFiles(t, filepath.Join(dir, "chat"), want)
}

func TestFileNamesAreSafe(t *testing.T) {
	for name, want := range map[string]string{
		"a.txt": "a.txt", "": "photo", "..": "photo", "../../etc/passwd": "passwd", `C:\x\y.doc`: "y.doc", " a b ": "a b", "a\nb\x1b[2J": "a_b_[2J",
		`<a>:"|?*.png`: "_a______.png", "\xff.png": "_.png", "é.png": "é.png",
	} {
		wanttest.Equal(t, name+": becomes", downloads.Name(name, "photo"), want)
	}
	for _, long := range []string{strings.Repeat("é", 200) + ".jpeg", strings.Repeat("x", 300) + "." + strings.Repeat("y", 300)} {
		got := downloads.Name(long, "photo")
		if len(got) > 200 || !utf8.ValidString(got) || strings.HasSuffix(long, ".jpeg") && !strings.HasSuffix(got, ".jpeg") {
			t.Errorf("%.20s… becomes %q", long, got)
		}
	}
}
