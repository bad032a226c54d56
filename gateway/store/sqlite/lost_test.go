package sqlite_test

import (
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
	"nanobot/internal/musttest"
)

// losses are ways in which the state of a running daemon can be lost. With atOnce, the writer
// notices the loss itself, and no write may be confirmed.
var losses = map[string]struct {
	atOnce bool
	do     func(dir string) error
}{
	"the folder is removed":   {true, os.RemoveAll},
	"the folder is moved":     {true, func(dir string) error { return os.Rename(dir, dir+".away") }},
	"the folder is replaced":  {true, func(dir string) error { return errors.Join(os.Rename(dir, dir+".away"), os.Mkdir(dir, 0o700)) }},
	"another state is there":  {true, replaceState},
	"the database is removed": {true, func(dir string) error { return os.Remove(filepath.Join(dir, "nanobot.db")) }},
	"the database is replaced": {true, func(dir string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "other"), make([]byte, 4096), 0o600), os.Rename(filepath.Join(dir, "other"), filepath.Join(dir, "nanobot.db")))
	}},
	"its log is removed":   {true, func(dir string) error { return os.Remove(filepath.Join(dir, "nanobot.db-wal")) }},
	"its index is removed": {false, func(dir string) error { return os.Remove(filepath.Join(dir, "nanobot.db-shm")) }},
	"the lock is removed":  {false, func(dir string) error { return os.Remove(filepath.Join(dir, "daemon.lock")) }},
	"the spool is removed": {false, func(dir string) error { return os.RemoveAll(filepath.Join(dir, "spool")) }},
	"a file is the folder": {true, func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }},
	"a loop is the folder": {true, func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Symlink(dir, dir)) }},
}

// replaceState replaces a state by another one.
func replaceState(dir string) error {
	other, err := sqlite.Open(ctx, dir+".other", sqlite.Options{})
	if err != nil {
		return err
	}
	return errors.Join(other.Close(), os.Rename(dir, dir+".away"), os.Rename(dir+".other", dir))
}

func TestNothingIsConfirmedOnceTheStateIsLost(t *testing.T) {
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			watch := dbfile.NewWatch()
			s := openStore(t, dir, sqlite.Options{Watch: watch})
			defer s.Close() // its files are gone
			receiveMessages(t, s, 3)
			musttest.Do(t, watch.Check())
			musttest.Do(t, loss.do(dir))
			if !loss.atOnce {
				if err := watch.Check(); !errors.Is(err, dbfile.ErrLost) {
					t.Errorf("the watch says %v", err)
				}
			}
			if _, err := s.Receive(ctx, store.ReceiveRequest{In: channels.Incoming{Chat: chat, ID: "new"}}); !errors.Is(err, dbfile.ErrLost) {
				t.Errorf("a message was received: %v", err)
			}
			if known, err := s.Known(ctx, chat, "new"); known || !errors.Is(err, dbfile.ErrLost) {
				t.Errorf("it is known: %v, %v", known, err)
			}
			if err := s.SetCursor(ctx, "net", "9"); !errors.Is(err, dbfile.ErrLost) {
				t.Errorf("a cursor was moved: %v", err)
			}
			select {
			case <-watch.Failed():
			default:
				t.Error("the watch has not failed")
			}
		})
	}
}

func TestAMovedFolderThatASymbolicLinkLeadsToIsNotLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	musttest.Do(t, errors.Join(os.Rename(dir, dir+".away"), os.Symlink(dir+".away", dir)))
	receiveMessages(t, s, 1)
}

func TestADaemonWhoseLockFileWasRemovedNoticesIt(t *testing.T) {
	dir := t.TempDir()
	watch := dbfile.NewWatch()
	first := openStore(t, dir, sqlite.Options{Watch: watch})
	defer closeStore(t, first)
	musttest.Do(t, os.Remove(filepath.Join(dir, "daemon.lock")))
	closeStore(t, openStore(t, dir, sqlite.Options{}))
	if err := watch.Check(); !errors.Is(err, dbfile.ErrLost) {
		t.Errorf("the first daemon does not notice it: %v", err)
	}
}

// The state may be lost during a write. The commit is then in files that no longer have a name.
func TestAWriteThatIsCommittedIntoALostStateIsNotConfirmed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := openStore(t, dir, sqlite.Options{})
	defer s.Close() // its files are gone
	receiveMessages(t, s, 1)
	other := musttest.Get(dbfile.Connect(ctx, filepath.Join(dir, "nanobot.db")))(t)
	run := func(script string) {
		t.Helper()
		if _, err := other.(driver.ExecerContext).ExecContext(ctx, script, nil); err != nil {
			t.Error(err)
		}
	}
	run("BEGIN IMMEDIATE") // the write waits for it
	confirmed := make(chan error, 1)
	go func() {
		_, err := s.Receive(ctx, store.ReceiveRequest{In: channels.Incoming{Chat: chat, ID: "new"}})
		confirmed <- err
	}()
	for stacks := make([]byte, 1<<20); !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "(*writer).inTransaction"); {
		runtime.Gosched()
	}
	musttest.Do(t, os.Rename(dir, dir+".away"))
	run("ROLLBACK")
	if err := <-confirmed; err == nil {
		t.Error("it is confirmed")
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}
