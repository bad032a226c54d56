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

// version is the schema this program writes: the number of the last file in migrations/.
const version = 13

// migrate brings the schema forward to version, all of it or nothing. It never goes back: an older
// program could not tell what a newer one meant by its tables.
func (t *tx) migrate() error {
	have, err := t.version()
	if err != nil || have == version {
		return err
	}
	if err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := t.forward(); err != nil {
		return errors.Join(err, t.exec("ROLLBACK"))
	}
	if err := t.exec("COMMIT"); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// forward asks for the version again, because another process may have migrated before the
// transaction began.
func (t *tx) forward() error {
	have, err := t.version()
	if err != nil {
		return err
	}
	scripts, err := forward(have)
	if err != nil {
		return err
	}
	for _, script := range scripts {
		if err := t.script(script); err != nil {
			return fmt.Errorf("migrate from schema %d: %w", have, err)
		}
	}
	return nil
}

// forward returns what leads from a schema to the newest.
func forward(have int) (scripts []string, err error) {
	for n := have + 1; n <= version; n++ {
		script, err := migrations.ReadFile(fmt.Sprintf("migrations/%d.sql", n))
		if err != nil {
			return nil, fmt.Errorf("migrate to schema %d: %w", n, err)
		}
		scripts = append(scripts, string(script), fmt.Sprintf("PRAGMA user_version = %d", n))
	}
	return scripts, nil
}

// version reads which schema the file has. One without a schema is not ours: a database is never
// seen before it has one.
func (t *tx) version() (int, error) {
	var have int
	if _, err := t.row("PRAGMA user_version", nil, &have); err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	switch {
	case have > version:
		return 0, dbfile.Newer(have, version)
	case have < 1:
		return 0, dbfile.Damaged("it has no schema")
	}
	return have, nil
}

// keptCopies is how many copies of earlier schemas are kept.
const keptCopies = 3

// keepCopy copies the database before its schema changes, for who wants the older nanobot back.
func (t *tx) keepCopy(ctx context.Context, path string, have int) error {
	folder := filepath.Join(filepath.Dir(path), Copies)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	name := fmt.Sprintf("nanobot-%s-schema-%d.db", time.Now().UTC().Format("20060102T150405.000000Z"), have)
	if err := dbfile.Copy(ctx, t.conn, filepath.Join(folder, name)); err != nil {
		return err
	}
	copies, err := filepath.Glob(filepath.Join(folder, "nanobot-*-schema-*.db")) // in order of their time
	if err != nil {
		return err
	}
	for _, old := range copies[:max(len(copies)-keptCopies, 0)] {
		if err := os.Remove(old); err != nil {
			return err
		}
	}
	return nil
}
