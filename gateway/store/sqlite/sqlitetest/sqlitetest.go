// Package sqlitetest provides tests with a state. Creating one takes a quarter of a second of CPU
// time under the race detector, so the database is created once and copied. It does not know what
// tests store.
package sqlitetest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"nanobot/gateway/store/sqlite"
)

// emptyDatabase is the content of a database that a daemon has created and closed.
var emptyDatabase = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "nanobot-state-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, sqlite.Database+"-wal")); !errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("the closed database has a write-ahead log")
	}
	return os.ReadFile(filepath.Join(dir, sqlite.Database))
})

// Prepare creates a state in dir, which need not exist, as a daemon leaves it that has received
// nothing.
func Prepare(t testing.TB, dir string) {
	t.Helper()
	database, err := emptyDatabase()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, sqlite.Database), database, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// UndoTo21 makes a database have schema 21, except for its version.
const UndoTo21 = `DROP TRIGGER search_message; DROP TRIGGER search_change; DROP TRIGGER search_delete; DROP TRIGGER search_entry;
	DROP TRIGGER search_entry_delete; DROP VIEW searched; DROP TABLE search; ALTER TABLE transcript DROP COLUMN delivery;
	DROP TABLE quota; DROP TABLE counted; DROP TABLE quota_told; DROP TABLE usage;`

// CountSending counts the deliveries that are marked as sending in the state in dir. A daemon may
// be using the state.
func CountSending(t testing.TB, dir string) int {
	t.Helper()
	return count(t, dir, "outbox WHERE state = 'sending'")
}

// CountBoards counts the boards that are recorded in the state in dir. A daemon may be using the
// state.
func CountBoards(t testing.TB, dir string) int {
	t.Helper()
	return count(t, dir, "transient WHERE board > 0")
}

// CountWaiting counts the people without access in the state in dir whose newest message contains a
// text. A daemon may be using the state.
func CountWaiting(t testing.TB, dir, text string) int {
	t.Helper()
	return count(t, dir, "pairing WHERE message LIKE '%"+text+"%'")
}

func count(t testing.TB, dir, rows string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, sqlite.Database)+"?mode=ro&_pragma=busy_timeout(60000)")
	if err == nil {
		err = errors.Join(db.QueryRow("SELECT count(*) FROM "+rows).Scan(&n), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}
