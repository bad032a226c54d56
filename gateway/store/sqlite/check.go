package sqlite

import (
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// checkedWhole is up to which size a database is read through at the start; that takes a few milliseconds. In a bigger one only
// the tables' roots are read, and damage further in is reported by whoever meets it.
const checkedWhole = 2 << 20

// check finds a damaged file before anything is built upon it.
func (t *tx) check(path string) error {
	for _, table := range []string{"cursor", "inbox", "seen", "line", "outbox", "spooled", "transcript", "afresh", "trace", "guest", "question", "memory", "bubble"} {
		if err := t.script("SELECT * FROM " + table + " LIMIT 1"); err != nil {
			return fmt.Errorf("read table %s: %w", table, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > checkedWhole {
		return nil
	}
	var verdict string
	if _, err := t.row("PRAGMA quick_check(1)", nil, &verdict); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if verdict != "ok" {
		return &damagedError{fmt.Errorf("check: %s", verdict)}
	}
	return nil
}

// damagedError says in the operator's words what SQLite says in its own.
type damagedError struct{ err error }

func (e *damagedError) Error() string {
	return "the database is damaged; restore it from a backup or move it away and start anew: " + e.err.Error()
}

func (e *damagedError) Unwrap() error { return e.err }

// explain tells a damaged file from other trouble.
func explain(err error) error {
	var d *damagedError
	var e *sqlite.Error
	if errors.As(err, &d) || !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return &damagedError{err}
	}
	return err
}
