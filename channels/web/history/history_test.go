package history_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"nanobot/channels"
	"nanobot/channels/web/history"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(postgrestest.Tests{M: m, Settings: postgrestest.Fast})
}

// opener opens the history of a folder.
type opener func(t *testing.T, dir string, o history.Options) *history.History

// onBoth runs a test with a file and with a server, which has a schema for each folder.
func onBoth(t *testing.T, test func(*testing.T, opener)) {
	t.Run("file", func(t *testing.T) { test(t, openHistory) })
	t.Run("server", func(t *testing.T) {
		schemas := map[string]*pgx.ConnConfig{}
		test(t, func(t *testing.T, dir string, o history.Options) *history.History {
			t.Helper()
			if schemas[dir] == nil {
				schemas[dir] = postgrestest.Lend(t)
			}
			o.Server = schemas[dir]
			return openHistory(t, dir, o)
		})
	})
}

func openHistory(t *testing.T, dir string, o history.Options) *history.History {
	t.Helper()
	h := musttest.Get(history.Open(dir, o))(t)
	t.Cleanup(func() { h.Close() })
	return h
}

var operator = history.Actor{All: true}

func newMessage(chat, id string) history.NewEvent {
	return history.NewEvent{Chat: chat, Actor: operator, Type: history.Message, ID: id, Body: history.Body{From: "bot", Text: "text of " + id}}
}

func mustAppend(t *testing.T, h *history.History, d history.NewEvent) history.Event {
	t.Helper()
	e, fresh, err := h.Append(t.Context(), d)
	if err != nil || !fresh {
		t.Fatalf("append %+v: %v, %v", d, fresh, err)
	}
	return e
}

// eventIDs returns the IDs of all events.
func eventIDs(t *testing.T, h *history.History) (out []string) {
	t.Helper()
	events := musttest.Get(h.Events(t.Context(), 0, 1<<62, operator, 1<<30))(t)
	for _, e := range events {
		out = append(out, e.ID)
	}
	return out
}

func TestEventsArePublishedInTheOrderOfTheirNumbers(t *testing.T) {
	onBoth(t, testEventsArePublishedInTheOrderOfTheirNumbers)
}

func testEventsArePublishedInTheOrderOfTheirNumbers(t *testing.T, openHistory opener) {
	var published []int64
	h := openHistory(t, t.TempDir(), history.Options{OnEvent: func(e history.Event) { published = append(published, e.Seq) }})
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			for i := range 20 {
				if _, _, err := h.Append(context.Background(), newMessage("c", fmt.Sprint(w, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if len(published) != 320 || !slices.IsSorted(published) || published[0] != 1 || published[319] != 320 {
		t.Errorf("published were %v", published)
	}
}

func TestARefusalDoesNotAffectTheRestOfItsGroup(t *testing.T) {
	onBoth(t, testARefusalDoesNotAffectTheRestOfItsGroup)
}

func testARefusalDoesNotAffectTheRestOfItsGroup(t *testing.T, openHistory opener) {
	h := openHistory(t, t.TempDir(), history.Options{})
	mustAppend(t, h, history.NewEvent{Chat: "hers", Actor: history.Actor{User: "ann"}, Type: history.Message, ID: "1"})
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			d := newMessage("c", fmt.Sprint(i))
			if i%2 == 0 {
				d.Chat, d.Actor = "hers", history.Actor{User: "bob"}
			}
			_, fresh, err := h.Append(context.Background(), d)
			if refused := errors.Is(err, history.ErrNotOwner); refused != (i%2 == 0) || fresh == refused {
				t.Errorf("%d: %v, %v", i, fresh, err)
			}
		})
	}
	all.Wait()
	if got := eventIDs(t, h); len(got) != 21 {
		t.Errorf("there are %q", got)
	}
}

// TestAChangeRolledBackWithOthersIsNotReported commits a good change together with one that fails.
func TestAChangeRolledBackWithOthersIsNotReported(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{})
		h := openHistory(t, dir, history.Options{OnEvent: func(history.Event) { <-busy }})
		var all sync.WaitGroup
		for _, id := range []string{"taken", "good", "taken"} {
			all.Go(func() {
				_, fresh, err := h.Append(context.Background(), newMessage("c", id))
				if first := err == nil; fresh != first {
					t.Errorf("%s: %v, %v", id, fresh, err)
				}
			})
			synctest.Wait() // until the first is on disk, and the others wait for it
		}
		close(busy)
		all.Wait()
		wanttest.EqualSlices(t, "there are", eventIDs(t, h), []string{"taken"})
	})
}

func TestSequenceNumbersAreNeverReused(t *testing.T) { onBoth(t, testSequenceNumbersAreNeverReused) }

func testSequenceNumbersAreNeverReused(t *testing.T, openHistory opener) {
	dir := t.TempDir()
	now := time.Now()
	o := history.Options{Now: func() time.Time { return now }}
	h := openHistory(t, dir, o)
	for i := range 3 {
		mustAppend(t, h, newMessage("c", fmt.Sprint(i)))
	}
	musttest.Do(t, h.Prune(t.Context(), now.Add(time.Hour)))
	musttest.Do(t, h.Close())
	h = openHistory(t, dir, o)
	wanttest.Equal(t, "the last is", h.LastSeq(), 3)
	if e := mustAppend(t, h, newMessage("c", "new")); e.Seq != 4 {
		t.Errorf("the next is %d", e.Seq)
	}
}

func TestPruneDeletesOldMessagesWithTheirFiles(t *testing.T) {
	onBoth(t, testPruneDeletesOldMessagesWithTheirFiles)
}

func testPruneDeletesOldMessagesWithTheirFiles(t *testing.T, openHistory opener) {
	dir := t.TempDir()
	now := time.Now()
	h := openHistory(t, dir, history.Options{Now: func() time.Time { return now }})
	withFile := func(d history.NewEvent) string {
		id, f, err := h.CreateFile()
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		d.Media = []history.Media{{ID: id, Name: "a", Type: "text/plain"}}
		mustAppend(t, h, d)
		return id
	}
	for i := range 450 { // more than is forgotten in one step
		d := newMessage("old", fmt.Sprint("old", i))
		mustAppend(t, h, d)
	}
	gone := withFile(newMessage("old", "file"))
	waits := newMessage("waits", "waits")
	waits.ForGateway = true
	mustAppend(t, h, waits)
	now = now.Add(31 * 24 * time.Hour)
	stays := withFile(newMessage("young", "young"))
	musttest.Do(t, h.Prune(t.Context(), now.Add(-30*24*time.Hour)))
	wanttest.EqualSlices(t, "left are", eventIDs(t, h), []string{"waits", "young"})
	chats, err := h.Chats(t.Context(), operator, 10)
	if err != nil || len(chats) != 2 || chats[0].ID != "young" || chats[1].ID != "waits" {
		t.Errorf("left are %v, %v", chats, err)
	}
	if _, _, err := h.FindMedia(t.Context(), operator, gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old file: %v", err)
	}
	if m, chat, err := h.FindMedia(t.Context(), operator, stays); err != nil || m.ID != stays || chat != "young" {
		t.Errorf("the young file: %+v of %s, %v", m, chat, err)
	}
	if files, _ := os.ReadDir(filepath.Join(dir, "media")); len(files) != 1 {
		t.Errorf("on disk are %v", files)
	}
}

func TestAChatKeepsItsOwnerWhenItIsPruned(t *testing.T) {
	onBoth(t, testAChatKeepsItsOwnerWhenItIsPruned)
}

func testAChatKeepsItsOwnerWhenItIsPruned(t *testing.T, openHistory opener) {
	now := time.Now()
	h := openHistory(t, t.TempDir(), history.Options{Now: func() time.Time { return now }})
	by := func(user, id string) history.NewEvent {
		return history.NewEvent{Chat: "c", Actor: history.Actor{User: user}, Type: history.Message, ID: id, Body: history.Body{Text: id}}
	}
	mustAppend(t, h, by("ann", "old"))
	now = now.Add(31 * 24 * time.Hour)
	musttest.Do(t, h.Prune(t.Context(), now))
	if chats, err := h.Chats(t.Context(), operator, 10); err != nil || len(chats) != 0 {
		t.Errorf("left are %v, %v", chats, err)
	}
	if _, _, err := h.Append(t.Context(), by("bob", "takeover")); !errors.Is(err, history.ErrNotOwner) {
		t.Errorf("somebody else: %v", err)
	}
	mustAppend(t, h, by("ann", "new"))
	if chats, err := h.Chats(t.Context(), history.Actor{User: "ann"}, 10); err != nil || len(chats) != 1 || chats[0].Title != "new" || !chats[0].Updated.Equal(now.Truncate(time.Millisecond)) {
		t.Errorf("its owner has %v, %v", chats, err)
	}
}

func TestWaitingMessagesDoNotStopPruning(t *testing.T) {
	onBoth(t, testWaitingMessagesDoNotStopPruning)
}

func testWaitingMessagesDoNotStopPruning(t *testing.T, openHistory opener) {
	now := time.Now()
	h := openHistory(t, t.TempDir(), history.Options{Now: func() time.Time { return now }})
	waits := newMessage("waits", "")
	waits.ForGateway = true
	var want []string
	for i := range 250 { // more than is looked at in one step
		waits.ID = fmt.Sprint("waits", i)
		mustAppend(t, h, waits)
		want = append(want, waits.ID)
	}
	mustAppend(t, h, newMessage("old", "old"))
	now = now.Add(31 * 24 * time.Hour)
	mustAppend(t, h, newMessage("young", "young"))
	musttest.Do(t, h.Prune(t.Context(), now.Add(-30*24*time.Hour)))
	wanttest.EqualSlices(t, "left are", eventIDs(t, h), append(want, "young"))
}

func TestReadsAreBoundedInBytes(t *testing.T) { onBoth(t, testReadsAreBoundedInBytes) }

func testReadsAreBoundedInBytes(t *testing.T, openHistory opener) {
	h := openHistory(t, t.TempDir(), history.Options{})
	const n = 9 // one more than a page may have
	for i := range n {
		d := newMessage("c", fmt.Sprint(i))
		d.Text, d.ForGateway = strings.Repeat("x", 1<<20), true
		mustAppend(t, h, d)
	}
	seen, more := 0, true
	for before := int64(0); more; {
		var page []history.Event
		var err error
		if page, more, err = h.Messages(t.Context(), "c", before, 100); err != nil || len(page) == 0 || len(page) > 8 {
			t.Fatalf("a page has %d messages, %v", len(page), err)
		}
		if last := page[len(page)-1].Seq; last != int64(n-seen) {
			t.Errorf("behind %d messages comes %d", seen, last)
		}
		seen += len(page)
		before = page[0].Seq
	}
	if seen != n {
		t.Errorf("of %d messages %d came", n, seen)
	}
	if waiting, err := h.Waiting(t.Context(), 0, 100); err != nil || len(waiting) == 0 || len(waiting) > 8 {
		t.Errorf("%d messages wait, %v", len(waiting), err)
	}
}

func TestUnusedFilesAreRemovedWhenTheyAreOld(t *testing.T) {
	onBoth(t, testUnusedFilesAreRemovedWhenTheyAreOld)
}

func testUnusedFilesAreRemovedWhenTheyAreOld(t *testing.T, openHistory opener) {
	dir := t.TempDir()
	now := time.Now()
	h := openHistory(t, dir, history.Options{Now: func() time.Time { return now }})
	unreferenced, f, err := h.CreateFile()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	kept, f, err := h.CreateFile()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	d := newMessage("c", "1")
	d.Media = []history.Media{{ID: kept}}
	mustAppend(t, h, d)
	left := func() (names []string) {
		entries, _ := os.ReadDir(filepath.Join(dir, "media"))
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	for _, c := range []struct {
		later time.Duration
		want  []string
	}{{time.Hour, []string{unreferenced, kept}}, {12 * time.Hour, []string{kept}}} {
		now = now.Add(c.later)
		musttest.Do(t, h.RemoveUnusedFiles(t.Context()))
		slices.Sort(c.want)
		if got := left(); !slices.Equal(got, c.want) {
			t.Errorf("after %s there are %q, want %q", c.later, got, c.want)
		}
	}
}

// TestAnInterruptedWriteIsRolledBack copies what is on disk as a kill -9 or a power cut would leave
// it, with the log torn at every place.
func TestAnInterruptedWriteIsRolledBack(t *testing.T) {
	dir := t.TempDir()
	h := openHistory(t, dir, history.Options{})
	var want []string
	for i := range 12 {
		id := fmt.Sprintf("%02d", i)
		mustAppend(t, h, newMessage("c", id))
		want = append(want, id)
	}
	log, err := os.ReadFile(filepath.Join(dir, "history.db-wal"))
	if err != nil || len(log) == 0 {
		t.Fatalf("there is no log: %v", err)
	}
	longest := 0
	for cut := len(log); cut > 0; cut -= max(len(log)/40, 1) {
		torn := t.TempDir()
		db := musttest.Get(os.ReadFile(filepath.Join(dir, "history.db")))(t)
		garbage := strings.Repeat("x", 100)
		musttest.Do(t, errors.Join(os.WriteFile(filepath.Join(torn, "history.db"), db, 0o600), os.WriteFile(filepath.Join(torn, "history.db-wal"), []byte(string(log[:cut])+garbage), 0o600)))
		again := openHistory(t, torn, history.Options{})
		got := eventIDs(t, again)
		if !slices.Equal(got, want[:len(got)]) {
			t.Errorf("cut at %d there are %q", cut, got)
		}
		longest = max(longest, len(got))
		mustAppend(t, again, newMessage("c", "next"))
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	if longest != len(want) {
		t.Errorf("of %d at most %d survived", len(want), longest)
	}
}

func TestADamagedFileIsReported(t *testing.T) {
	dir := t.TempDir()
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "history.db"), []byte(strings.Repeat("no database ", 1000)), 0o600))
	if _, err := history.Open(dir, history.Options{}); err == nil || !strings.Contains(err.Error(), "history.db") {
		t.Errorf("got %v", err)
	}
}

func TestOnlyTheOwnerCanReadTheFiles(t *testing.T) { onBoth(t, testOnlyTheOwnerCanReadTheFiles) }

func testOnlyTheOwnerCanReadTheFiles(t *testing.T, openHistory opener) {
	dir := filepath.Join(t.TempDir(), "web")
	h := openHistory(t, dir, history.Options{})
	mustAppend(t, h, newMessage("c", "1"))
	_, f, err := h.CreateFile()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	musttest.Do(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return err
	}))
}

func TestCallsAfterCloseFail(t *testing.T) { onBoth(t, testCallsAfterCloseFail) }

func testCallsAfterCloseFail(t *testing.T, openHistory opener) {
	h := openHistory(t, t.TempDir(), history.Options{})
	musttest.Do(t, h.Close())
	if _, _, err := h.Append(t.Context(), newMessage("c", "1")); !errors.Is(err, history.ErrClosed) {
		t.Errorf("append: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	other := openHistory(t, t.TempDir(), history.Options{})
	if _, _, err := other.Append(ctx, newMessage("c", "1")); !errors.Is(err, context.Canceled) {
		t.Errorf("append too late: %v", err)
	}
}

// The gateway's store is copied between two moments of the history. What the bot said meanwhile and
// that copy does not know is said again by it.
func TestASnapshotHasOnlyAnswersThatTheCopiedStoreHas(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	h := openHistory(t, dir, history.Options{})
	bot := func(id string, buttons ...channels.Button) history.NewEvent {
		return history.NewEvent{
			Chat: "c", Actor: history.Actor{All: true}, Type: history.Message, ID: id, Key: history.BotKeyPrefix + "key of " + id,
			Body: history.Body{From: "bot", Text: id, Buttons: buttons},
		}
	}
	button := channels.Button{Label: "Yes", Data: "yes"}
	mustAppend(t, h, newMessage("c", "asked before"))
	mustAppend(t, h, bot("answered long ago"))
	media, err := history.Snapshot(t.Context(), dir, to, func() (func(string) bool, error) {
		mustAppend(t, h, bot("on its way"))
		withFile := bot("not known", button)
		withFile.Media = []history.Media{{ID: "file", Name: "a.txt"}}
		mustAppend(t, h, withFile)
		mustAppend(t, h, newMessage("c", "asked meanwhile"))
		if _, err := h.Press(t.Context(), history.NewEvent{Chat: "c", Actor: history.Actor{All: true}, ID: "not known", Body: history.Body{Data: "yes"}}); err != nil {
			t.Error(err)
		}
		return func(key string) bool { return key == "key of on its way" }, nil
	})
	if err != nil || len(media) != 0 {
		t.Fatal(media, err)
	}
	restored := openHistory(t, to, history.Options{})
	wanttest.EqualSlices(t, "the copy has", eventIDs(t, restored), []string{"asked before", "answered long ago", "on its way", "asked meanwhile"})
	if got := mustAppend(t, restored, newMessage("c", "later")); got.Seq < 7 {
		t.Errorf("number %d is given twice", got.Seq)
	}
}
