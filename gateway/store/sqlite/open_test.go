package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

var chat = channels.Chat{Channel: "net", ID: "a"}

// receiveMessages stores n messages and returns their IDs.
func receiveMessages(t *testing.T, s *sqlite.Store, n int) []int64 {
	t.Helper()
	var ids []int64
	for i := range n {
		result := musttest.Get(s.Receive(ctx, store.ReceiveRequest{In: channels.Incoming{Chat: chat, ID: fmt.Sprint(i), Text: strings.Repeat("x", 300)}}))(t)
		ids = append(ids, result.Inbound.ID)
	}
	return ids
}

func countWaiting(t *testing.T, s *sqlite.Store) int {
	t.Helper()
	n := musttest.Get(s.CountPending(ctx, chat))(t)
	return n
}

func checkRefused(t *testing.T, dir string, want ...string) error {
	t.Helper()
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err == nil {
		closeStore(t, s)
		t.Fatal("it was opened")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not contain %q", err, w)
		}
	}
	return err
}

func TestOnlyTheOwnerCanReadTheState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "state")
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	receiveMessages(t, s, 1)
	for name, want := range map[string]os.FileMode{
		".": 0o700, "spool": 0o700, "nanobot.db": 0o600, "nanobot.db-wal": 0o600, "nanobot.db-shm": 0o600, "daemon.lock": 0o600, "agents.txt": 0o600,
	} {
		info := musttest.Get(os.Stat(filepath.Join(dir, name)))(t)
		wanttest.Equal(t, name+": has mode", info.Mode().Perm(), want)
	}
}

func TestTheStateFolderMayHaveAnyName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "50% off? #1 & ümlaut")
	s := openStore(t, dir, sqlite.Options{})
	receiveMessages(t, s, 1)
	closeStore(t, s)
	if _, err := os.Stat(filepath.Join(dir, "nanobot.db")); err != nil {
		t.Error(err)
	}
}

func TestASecondDaemonIsRefused(t *testing.T) {
	dir := t.TempDir()
	first := openStore(t, dir, sqlite.Options{})
	err := checkRefused(t, dir, fmt.Sprintf("pid %d", os.Getpid()))
	if !errors.Is(err, store.ErrLocked) {
		t.Errorf("got %v, want ErrLocked", err)
	}
	closeStore(t, first)
	closeStore(t, openStore(t, dir, sqlite.Options{}))
}

func TestACommandDoesNotCreateAState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	for range 2 {
		if s, err := sqlite.Open(ctx, dir, sqlite.Options{Shared: true}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v, %v", s, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("there is %v", entries)
		}
		musttest.Do(t, os.MkdirAll(dir, 0o700))
	}
}

func TestACommandWorksBesideTheDaemon(t *testing.T) {
	dir := t.TempDir()
	daemon := openStore(t, dir, sqlite.Options{})
	const code = "ABCD2345"
	_, err := daemon.RequestPairing(ctx, store.PairingRequest{
		In:   channels.Incoming{Chat: channels.Chat{Channel: "net", ID: "7"}, ID: "1", User: channels.User{ID: "7"}},
		Code: code, Limits: store.CodeLimits{Life: 1 << 40, Open: 9, PerHour: 9},
	})
	if err != nil {
		t.Fatal(err)
	}
	tool := openStore(t, dir, sqlite.Options{Shared: true})
	if _, ok, err := tool.Accept(ctx, code, 1<<40); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if ok, err := daemon.Allowed(ctx, "net", "7"); err != nil || !ok {
		t.Errorf("the daemon does not see it: %t, %v", ok, err)
	}
	err = runParallel(2, func(i int) error { // both write at once
		for n := range 50 {
			if err := []*sqlite.Store{daemon, tool}[i].SetCursor(ctx, fmt.Sprint(i), fmt.Sprint(n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	closeStore(t, tool)
	receiveMessages(t, daemon, 1)
	closeStore(t, daemon)
}

func TestANewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	receiveMessages(t, s, 1)
	closeStore(t, s)
	editDatabase(t, dir, "PRAGMA user_version = 99")
	checkRefused(t, dir, "nanobot.db", "newer nanobot", "schema 99")
	editDatabase(t, dir, fmt.Sprint("PRAGMA user_version = ", sqlite.SchemaVersion))
	s = openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	wanttest.Equal(t, "got", countWaiting(t, s), 1)
}

func TestAnUnusableFolderIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	musttest.Do(t, os.WriteFile(file, nil, 0o600))
	checkRefused(t, file, "open state", "not a directory")
}

func closeStore(tb testing.TB, s *sqlite.Store) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Error(err)
	}
}

// runParallel runs n calls in parallel.
func runParallel(n int, do func(i int) error) error {
	var g errgroup.Group
	for i := range n {
		g.Go(func() error { return do(i) })
	}
	return g.Wait()
}
