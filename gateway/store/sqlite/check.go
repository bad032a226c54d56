package sqlite

import (
	"context"
	"fmt"
	"os"

	"nanobot/internal/dbfile"
)

// checkedWhole is up to which size a database is read through at the start; that takes a few
// milliseconds. In a bigger one only the tables' roots are read, and Verify finds damage further
// in.
const checkedWhole = 2 << 20

// check finds a damaged file before anything is built upon it.
func (t *tx) check(path string) error {
	for _, table := range []string{"cursor", "inbox", "seen", "part", "line", "outbox", "spooled", "transcript", "afresh", "trace", "pairing", "question", "memory", "transient", "token"} {
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
		return dbfile.Damaged("check: %s", verdict)
	}
	return nil
}

// Verify reads the whole database through while it is in use. Damage is the end of the store's use:
// it fails the watch.
func (s *Store) Verify(ctx context.Context) (dbfile.Report, error) {
	r, err := dbfile.Check(ctx, s.path)
	return r, s.watch.Judge(s.path, err)
}

// MissingCopies returns how many folders of the spool are missing that answers need which are not
// delivered yet.
func (s *Store) MissingCopies(ctx context.Context) (missing, all int, err error) {
	err = s.each(ctx, "SELECT DISTINCT folder FROM spooled", nil, func(scan func(...any) error) error {
		var folder string
		if err := scan(&folder); err != nil {
			return err
		}
		all++
		if !s.spool.has(folder) {
			missing++
		}
		return nil
	})
	return missing, all, wrap("read which copies are needed", err)
}
