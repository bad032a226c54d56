// Package sqlitetest gives tests a state to begin with. To make one takes a quarter of a second of
// CPU time under the race detector, and most tests are about something else.
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

// made is the database of a state that a daemon made and left.
var made = sync.OnceValues(func() ([]byte, error) {
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
		return nil, errors.New("the database was left with a log")
	}
	return os.ReadFile(filepath.Join(dir, sqlite.Database))
})

// Prepare makes the state in dir, which need not be there, as a daemon leaves it that has received
// nothing.
func Prepare(t testing.TB, dir string) {
	t.Helper()
	database, err := made()
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

// Sending counts the deliveries of the state in dir that are marked sending, beside a daemon that
// may be running.
func Sending(t testing.TB, dir string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, sqlite.Database)+"?mode=ro&_pragma=busy_timeout(60000)")
	if err == nil {
		err = errors.Join(db.QueryRow("SELECT count(*) FROM outbox WHERE state = 'sending'").Scan(&n), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}
