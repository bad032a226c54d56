package dbfile_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nanobot/internal/dbfile"
	"nanobot/internal/musttest"
)

// fillAndDelete stores and changes rows of two people in random sizes, and deletes those of one. It
// returns how often something of her is left in the files.
func fillAndDelete(t *testing.T, path string, seed uint64) int {
	t.Helper()
	musttest.Do(t, dbfile.Create(t.Context(), path, "CREATE TABLE t (id INTEGER PRIMARY KEY, chat TEXT, x TEXT)",
		"CREATE TABLE w (k TEXT PRIMARY KEY, x TEXT) WITHOUT ROWID"))
	db := sql.OpenDB(musttest.Get(dbfile.Connector(path, nil, "journal_mode(WAL)"))(t))
	db.SetMaxOpenConns(1)
	defer db.Close()
	tx := musttest.Get(db.Begin())(t)
	exec := func(query string, args ...any) {
		t.Helper()
		musttest.Get(tx.Exec(query, args...))(t)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 1500 {
		word := "marker "
		if i%3 > 0 {
			word = "other "
		}
		text := strings.Repeat(word, 1+random.IntN(60))
		exec("INSERT INTO t (chat, x) VALUES (?, ?)", word, text)
		exec("INSERT OR REPLACE INTO w VALUES (?, ?)", fmt.Sprint(word, random.IntN(1e6)), text)
		exec("UPDATE t SET x = substr(x, 1, ?) WHERE id = ?", len(word)*(1+random.IntN(60)), random.IntN(i+1))
	}
	exec("DELETE FROM t WHERE chat = 'marker '")
	exec("DELETE FROM w WHERE k LIKE 'marker%'")
	musttest.Do(t, tx.Commit())
	musttest.Get(db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"))(t)
	return countMarkers(t, path)
}

func countMarkers(t *testing.T, path string) (n int) {
	t.Helper()
	for _, suffix := range []string{"", dbfile.LogSuffix} {
		content, err := os.ReadFile(path + suffix)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		n += bytes.Count(content, []byte("marker"))
	}
	return n
}

// Deleted rows are overwritten, but not the copies of rows that SQLite has left on a page whose
// rows it has moved.
func TestNothingThatWasDeletedIsLeftAfterAVacuum(t *testing.T) {
	for seed := range uint64(50) {
		path := filepath.Join(t.TempDir(), "a.db")
		if fillAndDelete(t, path, seed) == 0 {
			continue
		}
		musttest.Do(t, dbfile.Vacuum(t.Context(), path))
		if n := countMarkers(t, path); n > 0 {
			t.Errorf("seed %d: there are %d", seed, n)
		}
		return
	}
	t.Fatal("nothing was ever left on a page")
}

func TestAVacuumWaitsForReadersAndEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	fillAndDelete(t, path, 1)
	db := sql.OpenDB(musttest.Get(dbfile.Connector(path, nil, "query_only(1)"))(t))
	defer db.Close()
	rows := musttest.Get(db.Query("SELECT id FROM t UNION ALL SELECT k FROM w"))(t)
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := dbfile.Vacuum(ctx, path); err == nil {
		t.Error("the vacuum ends while somebody reads the log")
	}
	done := make(chan error)
	go func() { done <- dbfile.Vacuum(t.Context(), path) }()
	musttest.Do(t, rows.Close())
	musttest.Do(t, <-done)
}
