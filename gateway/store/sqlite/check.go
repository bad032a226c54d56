package sqlite

import (
	"context"
	"fmt"
	"os"

	"nanobot/internal/dbfile"
)

// fullCheckLimit is the size up to which the whole database is checked at the start, which takes a
// few milliseconds. Of a larger database only one row of each table is read; Verify finds other
// damage.
const fullCheckLimit = 2 << 20

// checkDatabase finds a damaged file before it is used.
func (c *conn) checkDatabase(path string) error {
	tables := []string{
		"cursor", "inbox", "seen", "part", "line", "outbox", "spooled", "transcript", "afresh", "trace", "pairing", "refused",
		"code_made", "told_later", "question", "memory", "record", "transient", "token", "details",
	}
	for _, table := range tables {
		if err := c.execScript("SELECT * FROM " + table + " LIMIT 1"); err != nil {
			return fmt.Errorf("read table %s: %w", table, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > fullCheckLimit {
		return nil
	}
	var result string
	if _, err := c.queryRow("PRAGMA quick_check(1)", nil, &result); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if result != "ok" {
		return dbfile.Damaged("check: %s", result)
	}
	return nil
}

// Verify checks the whole database while it is in use. If it is damaged, s.watch reports the
// failure, so that the daemon stops using the store.
func (s *state) Verify(ctx context.Context) (dbfile.Report, error) {
	r, err := dbfile.Check(ctx, s.path)
	return r, s.watch.FailIfDamaged(s.path, err)
}

// MissingCopies counts the folders of the spool that undelivered messages need, and those of them
// that are missing.
func (s *state) MissingCopies(ctx context.Context) (missing, all int, err error) {
	folders, err := readAll(ctx, s, "read which copies are needed", column[string], "SELECT DISTINCT folder FROM spooled")
	for _, folder := range folders {
		if !s.spool.hasCopy(folder) {
			missing++
		}
	}
	return missing, len(folders), err
}
