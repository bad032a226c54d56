package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nanobot/internal/dbfile"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schemaVersion is the version of the schema that this program uses, oldestSchema the oldest one
// that it reads: the numbers of the last and the first file in migrations/.
const schemaVersion, oldestSchema = 24, 7

// migrate upgrades the schema to schemaVersion in one transaction. It never downgrades: an older
// program does not know the tables of a newer one.
func (c *conn) migrate() error {
	have, err := c.readSchemaVersion()
	if err != nil || have == schemaVersion {
		return err
	}
	if err := c.execScript("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := c.runMigrations(); err != nil {
		return errors.Join(err, c.execScript("ROLLBACK"))
	}
	if err := c.execScript("COMMIT"); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// runMigrations reads the version again, because another process may have migrated the database
// before the transaction began.
func (c *conn) runMigrations() error {
	have, err := c.readSchemaVersion()
	if err != nil {
		return err
	}
	scripts, err := migrationScripts(have)
	if err != nil {
		return err
	}
	for _, script := range scripts {
		if err := c.execScript(script); err != nil {
			return fmt.Errorf("migrate from schema %d: %w", have, err)
		}
	}
	return nil
}

// newSchema is what all migrations together make of no schema. It creates a new database several
// times as fast as they do. A test generates it.
//
//go:embed schema.sql
var newSchema string

// creationScripts returns the scripts that create the newest schema.
func creationScripts() []string {
	return []string{newSchema, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)}
}

// migrationScripts returns the scripts that upgrade a schema to the newest version.
func migrationScripts(have int) (scripts []string, err error) {
	for n := have + 1; n <= schemaVersion; n++ {
		script, err := migrations.ReadFile(fmt.Sprintf("migrations/%d.sql", n))
		if err != nil {
			return nil, fmt.Errorf("migrate to schema %d: %w", n, err)
		}
		scripts = append(scripts, string(script), fmt.Sprintf("PRAGMA user_version = %d", n))
	}
	return scripts, nil
}

// readSchemaVersion returns the version of the database's schema. A database without a schema is
// damaged, because dbfile.Create never leaves one.
func (c *conn) readSchemaVersion() (int, error) {
	var have int
	if _, err := c.queryRow("PRAGMA user_version", nil, &have); err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	switch {
	case have > schemaVersion:
		return 0, dbfile.Newer(have, schemaVersion)
	case have < 1:
		return 0, dbfile.Damaged("it has no schema")
	case have < oldestSchema:
		return 0, dbfile.Damaged("it has schema %d; this version reads %d and newer ones", have, oldestSchema)
	}
	return have, nil
}

// maxMigrationCopies is the number of copies of earlier schemas that are kept.
const maxMigrationCopies = 3

// copyBeforeMigration copies the database before its schema changes, so that an operator can return
// to the older nanobot.
func (c *conn) copyBeforeMigration(ctx context.Context, path string, have int) error {
	folder := filepath.Join(filepath.Dir(path), Copies)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	name := fmt.Sprintf("nanobot-%s-schema-%d.db", time.Now().UTC().Format("20060102T150405.000000Z"), have)
	if err := dbfile.Copy(ctx, c.driver, filepath.Join(folder, name)); err != nil {
		return err
	}
	copies, err := filepath.Glob(filepath.Join(folder, "nanobot-*-schema-*.db")) // in order of their time
	if err != nil {
		return err
	}
	for _, old := range copies[:max(len(copies)-maxMigrationCopies, 0)] {
		if err := os.Remove(old); err != nil {
			return err
		}
	}
	return nil
}

// enableVacuum rewrites a database of an earlier nanobot once, so that its file can shrink.
func (c *conn) enableVacuum() error {
	const incremental = 2
	var mode int
	if _, err := c.queryRow("PRAGMA auto_vacuum", nil, &mode); err != nil || mode == incremental {
		return err
	}
	_ = c.execScript("PRAGMA auto_vacuum = INCREMENTAL; VACUUM") // on a full disk the next start tries again
	return nil
}

// fullCheckLimit is the size up to which the whole database is checked at the start, which takes a
// few milliseconds. Of a larger database only one row of each table is read; Verify finds other
// damage.
const fullCheckLimit = 2 << 20

// checkDatabase finds a damaged file before it is used. It reads one state of the database: SQLite
// would compare what it remembers of the index of searches with what another process has written
// meanwhile, and find damage.
func (c *conn) checkDatabase(path string) (err error) {
	if err := c.execScript("BEGIN"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.execScript("ROLLBACK")) }()
	tables := []string{
		"cursor", "inbox", "seen", "part", "line", "outbox", "spooled", "transcript", "afresh", "trace", "pairing", "refused",
		"code_made", "told_later", "question", "memory", "record", "transient", "token", "details", "usage", "quota",
		"counted", "quota_told", "search",
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
		if !s.spool.Has(folder) {
			missing++
		}
	}
	return missing, len(folders), err
}
