package downloads_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/channels/channelstest"
	"nanobot/channels/downloads"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
)

func newFiles(t *testing.T, limit int64) (*downloads.Folders, *channelstest.Files, string) {
	t.Helper()
	dir := t.TempDir()
	all, files := downloads.New("net", channelstest.ChatFolders(dir)), channelstest.NewFiles()
	files.SetMaxBytes(limit)
	all.SetFiles(files)
	return all, files, dir
}

func mustSave(t *testing.T, f *downloads.Folder, name, content string) downloads.File {
	t.Helper()
	saved := musttest.Get(f.Save(name, text(content)))(t)
	return saved
}

func TestAFileBeyondTheLimitOfItsChatIsRefused(t *testing.T) {
	all, files, dir := newFiles(t, 10)
	f := openFolder(t, all)
	first := mustSave(t, f, "a", "123456")
	_, err := f.Save("b", text("12345"))
	var full *downloads.ChatFullError
	if reason, ok := downloads.Refusal(err, words.Words{}); !errors.As(err, &full) || !ok || !strings.Contains(reason, "may have up to 10 bytes together") {
		t.Errorf("refused: %v, %q", err, reason)
	}
	checkFiles(t, filepath.Join(dir, "chat"), map[string]string{"a": "123456"})
	mustSave(t, f, "c", "1234")
	if other, err := all.Open("other"); err != nil {
		t.Error(err)
	} else {
		mustSave(t, other, "d", "1234567890")
		_ = other.Close()
	}
	// A restart knows the files from the records.
	again := downloads.New("net", channelstest.ChatFolders(dir))
	again.SetFiles(files)
	f = openFolder(t, again)
	if _, err := f.Save("e", text("1")); !errors.As(err, &full) {
		t.Errorf("after a restart: %v", err)
	}
	// What the agent removes makes room, and a higher limit does at once.
	musttest.Do(t, os.Remove(first.Path))
	mustSave(t, f, "e", "123456")
	if _, err := f.Save("g", text("1")); !errors.As(err, &full) {
		t.Errorf("beyond it again: %v", err)
	}
	files.SetMaxBytes(11)
	mustSave(t, f, "g", "1")
}

func TestFilesThatArriveTogetherDoNotExceedTheLimit(t *testing.T) {
	all, _, _ := newFiles(t, 10_000)
	f := openFolder(t, all)
	var saved int
	var mu sync.Mutex
	var work sync.WaitGroup
	for i := range 20 {
		work.Go(func() {
			if _, err := f.Save(fmt.Sprint(i), text(strings.Repeat("x", 1000+i))); err == nil {
				mu.Lock()
				saved++
				mu.Unlock()
			}
		})
	}
	work.Wait()
	if saved < 1 || saved > 9 {
		t.Errorf("%d of 20 files were saved", saved)
	}
}

func TestOnlyUnchangedReceivedFilesAreRemovedOldestFirst(t *testing.T) {
	all, files, dir := newFiles(t, 0)
	f := openFolder(t, all)
	here := filepath.Join(dir, "chat")
	for _, name := range []string{"old", "edited", "same-size", "moved", "replaced", "linked", "young"} {
		mustSave(t, f, name, "content of "+name)
	}
	in := func(name string) string { return filepath.Join(here, name) }
	times := musttest.Get(os.Stat(in("same-size")))(t)
	outside := filepath.Join(t.TempDir(), "outside")
	for _, err := range []error{
		os.WriteFile(in("edited"), []byte("content of edited, and more"), 0o600),
		os.WriteFile(in("same-size"), []byte("CONTENT OF same-size"), 0o600),
		os.Chtimes(in("same-size"), times.ModTime(), times.ModTime()),
		os.Rename(in("moved"), in("elsewhere")),
		os.Remove(in("replaced")), os.Mkdir(in("replaced"), 0o700),
		os.WriteFile(outside, []byte("content of linked"), 0o600),
		os.Remove(in("linked")), os.Symlink(outside, in("linked")),
		os.WriteFile(in("own"), []byte("the agent's"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{"old", "edited", "same-size", "moved", "replaced", "linked"} {
		files.SetReceived("file:chat/"+name, long)
	}
	prune := func(before time.Time) int {
		n, err := downloads.Prune(t.Context(), func(chat string) (*os.Root, error) { return os.OpenRoot(filepath.Join(dir, chat)) }, files, before)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	wanttest.Equal(t, "files were removed:", prune(time.Now().Add(-24*time.Hour)), 1)
	var left []string
	entries := musttest.Get(os.ReadDir(here))(t)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	wanttest.Equal(t, "left are", strings.Join(left, " "), "edited elsewhere linked own replaced same-size young")
	if b, err := os.ReadFile(outside); err != nil || string(b) != "content of linked" {
		t.Errorf("outside there is %q, %v", b, err)
	}
	if got, err := files.ListRecords(context.Background(), "file:"); err != nil || len(got) != 1 {
		t.Errorf("recorded are %v, %v", maps.Keys(got), err)
	}
	// The oldest goes first: here everything is old, and the second cannot be removed.
	var order []string
	files.SetReceived("file:chat/young", long)
	mustSave(t, f, "older", "x")
	files.SetReceived("file:chat/older", long.Add(-time.Hour))
	files.OnSave(func(key, value string) {
		if value == "" {
			order = append(order, key)
		}
	})
	if n := prune(time.Now()); n != 2 || strings.Join(order, " ") != "file:chat/older file:chat/young" {
		t.Errorf("%d were removed: %v", n, order)
	}
}

func TestAFolderThatIsGoneIsNotCreatedToRemoveItsFiles(t *testing.T) {
	all, files, dir := newFiles(t, 0)
	mustSave(t, openFolder(t, all), "a", "x")
	musttest.Do(t, os.RemoveAll(filepath.Join(dir, "chat")))
	if n, err := downloads.Prune(t.Context(), func(chat string) (*os.Root, error) { return os.OpenRoot(filepath.Join(dir, chat)) }, files, time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if got, _ := files.ListRecords(context.Background(), "file:"); len(got) != 0 {
		t.Errorf("recorded are %v", got)
	}
}

func TestASavedFileIsOpenedOnlyAsItWasSaved(t *testing.T) {
	all, _, _ := newFiles(t, 0)
	f := openFolder(t, all)
	saved := mustSave(t, f, "a", "content")
	if sum := sha256.Sum256([]byte("content")); saved.Size != 7 || saved.SHA256 != hex.EncodeToString(sum[:]) {
		t.Fatalf("saved is %+v", saved)
	}
	check := func(want error) {
		t.Helper()
		file, err := f.OpenSaved(saved)
		if !errors.Is(err, want) {
			t.Errorf("opened: %v, want %v", err, want)
		}
		if err == nil {
			_ = file.Close()
		}
		if err := f.Check(saved); !errors.Is(err, want) {
			t.Errorf("checked: %v, want %v", err, want)
		}
	}
	set := func(content string) {
		t.Helper()
		musttest.Do(t, os.WriteFile(saved.Path, []byte(content), 0o600))
	}
	check(nil)
	set("CONTENT")
	check(downloads.ErrChanged)
	set("content and more")
	check(downloads.ErrChanged)
	set("content") // as before, at another time
	check(nil)
	musttest.Do(t, os.Remove(saved.Path))
	check(downloads.ErrGone)
	musttest.Do(t, os.Symlink("/etc/hostname", saved.Path))
	check(downloads.ErrGone)
}
