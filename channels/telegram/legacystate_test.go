package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/internal/musttest"
)

// legacyFiles are what an earlier version left of bot 1: an album that may get more parts, with a
// message behind it; an album that was received right before it was killed; one that was received
// long ago; a message from a group that has moved; and a message to another bot.
func legacyFiles() map[string]string {
	return map[string]string{
		"bot.json":           `{"id":1}`,
		"moved.json":         `{"-1001234567890":-77}`,
		"102.open":           "[" + albumPartUpdate(102, 42, "a") + "," + albumPartUpdate(101, 42, "a") + "]",
		"110.sealed":         "[" + albumPartUpdate(110, 42, "") + "]",
		"120.sealed":         "[" + albumPartUpdate(120, 43, "b") + "," + albumPartUpdate(121, 43, "b") + "]",
		"130.done":           "[" + albumPartUpdate(130, 44, "c") + "," + albumPartUpdate(131, 44, "c") + "]",
		"140.sealed":         "[" + albumPartUpdate(140, -1001234567890, "") + "]",
		"bot-555/150.sealed": "[" + albumPartUpdate(150, 42, "") + "]",
		".slip-1":            "[",
	}
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// failingMemory fails permanently after a number of changes, as if the process was killed.
type failingMemory struct {
	*channelstest.Memory
	mu   sync.Mutex
	left int
	cut  func() // called on the first failure
}

var errKilled = errors.New("killed")

func (m *failingMemory) countChange() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left--; m.left < 0 {
		m.cut()
		return errKilled
	}
	return nil
}

func (m *failingMemory) Save(ctx context.Context, key, value string) error {
	if err := m.countChange(); err != nil {
		return err
	}
	return m.Memory.Save(ctx, key, value)
}

func (m *failingMemory) DropParts(ctx context.Context, chat channels.Chat, group string) error {
	if err := m.countChange(); err != nil {
		return err
	}
	return m.Memory.DropParts(ctx, chat, group)
}

// runWithLegacyFiles runs a channel on the state of an earlier version for a minute, or until its
// memory fails after a number of changes. It returns the received texts and whether the memory has
// failed.
func runWithLegacyFiles(t *testing.T, dir string, memory *channelstest.Memory, changes int) (got []string, killed bool) {
	t.Helper()
	ch, err := telegram.New(telegram.Options{
		Token: "1:abc", Folder: channelstest.ChatFolders(dir), LegacyState: filepath.Join(dir, "state"), Groups: "all",
		Client: &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			if path.Base(req.URL.Path) == "getUpdates" {
				return respondAfter(req, 5*time.Second, `{"ok":true,"result":[]}`)
			}
			return respond(req, 200, `{"ok":true,"result":{"id":1,"is_bot":true,"username":"b"}}`), nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := &failingMemory{Memory: memory, left: changes, cut: func() { killed = true; cancel() }}
	ch.SetMemory(m)
	var mu sync.Mutex
	receive := memory.WrapReceive(func(_ context.Context, in channels.Incoming) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf("%s %s %q", in.Chat.ID, in.ID, in.Text))
		return nil
	})
	err = ch.Run(ctx, func(ctx context.Context, in channels.Incoming) error {
		if err := m.countChange(); err != nil {
			return err
		}
		return receive(ctx, in)
	})
	if err != nil {
		t.Errorf("Run returned %v", err)
	}
	return got, killed
}

// legacyMemory returns the memory of a bot whose earlier version has received two albums.
func legacyMemory(t *testing.T) *channelstest.Memory {
	t.Helper()
	memory := channelstest.NewMemory()
	stored := memory.WrapReceive(func(context.Context, channels.Incoming) error { return nil })
	for chat, id := range map[string]string{"43": "120", "44": "130"} { // the store knew the first parts
		musttest.Do(t, stored(t.Context(), channels.Incoming{Chat: chatOf(chat), ID: id}))
	}
	return memory
}

func TestLegacyStateIsImportedOnceEvenIfKilledAtAnyPoint(t *testing.T) {
	killed, points := true, 0
	for ; killed; points++ {
		synctest.Test(t, func(t *testing.T) {
			dir, memory := t.TempDir(), legacyMemory(t)
			state := filepath.Join(dir, "state")
			files := legacyFiles()
			writeFiles(t, state, files)
			var got []string
			got, killed = runWithLegacyFiles(t, dir, memory, points)
			again, _ := runWithLegacyFiles(t, dir, memory, 1000)
			got = append(got, again...)
			if _, err := os.Stat(state); !errors.Is(err, fs.ErrNotExist) {
				left, _ := filepath.Glob(filepath.Join(state, "*"))
				t.Errorf("killed after %d changes: left are %q (%v)", points, left, err)
			}
			delete(files, "bot-555/150.sealed")
			writeFiles(t, state, files) // as if their removal had not reached the disk
			again, _ = runWithLegacyFiles(t, dir, memory, 1000)
			got = append(got, again...)
			checkImported(t, memory, got, points)
		})
	}
	if points < 10 {
		t.Errorf("there are only %d points", points)
	}
}

func checkImported(t *testing.T, memory *channelstest.Memory, got []string, points int) {
	t.Helper()
	want := map[string][]string{
		"42":  {`42 101 "part 101\npart 102"`, `42 110 "part 110"`},
		"-77": {`-77 -1001234567890/140 "part 140"`},
	}
	chats := map[string][]string{}
	for _, line := range got {
		chat, _, _ := strings.Cut(line, " ")
		chats[chat] = append(chats[chat], line)
	}
	if !maps.EqualFunc(chats, want, slices.Equal) {
		t.Errorf("killed after %d changes: received %q", points, chats)
	}
	for _, known := range []struct {
		chat string
		id   int
	}{{"42", 101}, {"42", 102}, {"42", 110}, {"43", 120}, {"43", 121}, {"44", 130}, {"44", 131}} {
		if ok, _ := memory.Known(t.Context(), chatOf(known.chat), strconv.Itoa(known.id)); !ok {
			t.Errorf("killed after %d changes: %+v is not known", points, known)
		}
	}
	left := memory.StoredParts()
	if len(left) != 1 || left[0].ID != "555:150" {
		t.Errorf("killed after %d changes: pending are %+v", points, left)
	}
	if bot, _ := memory.Load(t.Context(), "bot"); bot != "1" {
		t.Errorf("killed after %d changes: the state is of bot %q", points, bot)
	}
	if moved, _ := memory.Load(t.Context(), "moved"); moved != `{"-1001234567890":-77}` {
		t.Errorf("killed after %d changes: moved are %s", points, moved)
	}
}

func TestAnImportedFileThatCannotBeRemovedStopsNothing(t *testing.T) {
	r := newTestChannel(t)
	file := filepath.Join(r.state.legacyDir(), "110.sealed")
	writeFiles(t, r.state.legacyDir(), map[string]string{"110.sealed": "[" + albumPartUpdate(110, 42, "") + "]"})
	r.startRefusing(func(_ context.Context, in channels.Incoming) error {
		if in.Part == nil || in.Part.Last {
			return nil
		}
		if err := os.Remove(file); err != nil {
			return err
		}
		return os.MkdirAll(filepath.Join(file, "a folder that is not empty"), 0o700)
	})
	if got := r.WaitForMessages(1); got[0].Text != "part 110" {
		t.Errorf("received %+v", got)
	}
	if log := r.LogText(); strings.Contains(log, "will retry") || !strings.Contains(log, "cannot be removed") {
		t.Errorf("the log is %s", log)
	}
}

func TestEarlierStateThatCannotBeReadIsRefused(t *testing.T) {
	for _, name := range []string{"bot.json", "moved.json"} {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{name: "{"})
		_, err := telegram.New(telegram.Options{Token: "1:abc", Folder: channelstest.ChatFolders(""), LegacyState: dir})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: New returned %v", name, err)
		}
	}
}
