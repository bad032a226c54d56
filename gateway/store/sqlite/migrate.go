package sqlite

import (
	"embed"
	"errors"
	"fmt"
)

//go:embed migrations/*.sql
var migrations embed.FS

// version is the schema this program writes: the number of the last file in migrations/.
const version = 6

// migrate brings the schema forward to version, all of it or nothing. It never goes back: an older program could not tell
// what a newer one meant by its tables.
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

// forward asks for the version again, because another process may have migrated before the transaction began.
func (t *tx) forward() error {
	have, err := t.version()
	if err != nil {
		return err
	}
	for n := have + 1; n <= version; n++ {
		script, err := migrations.ReadFile(fmt.Sprintf("migrations/%d.sql", n))
		if err != nil {
			return fmt.Errorf("migrate to schema %d: %w", n, err)
		}
		if err := t.script(string(script)); err != nil {
			return fmt.Errorf("migrate to schema %d: %w", n, err)
		}
		if err := t.script(fmt.Sprintf("PRAGMA user_version = %d", n)); err != nil {
			return fmt.Errorf("migrate to schema %d: %w", n, err)
		}
	}
	return nil
}

// version reads which schema the file has.
func (t *tx) version() (int, error) {
	var have int
	if _, err := t.row("PRAGMA user_version", nil, &have); err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	if have > version {
		return 0, fmt.Errorf("it was written by a newer nanobot (schema %d, this one knows up to %d): use that one", have, version)
	}
	return have, nil
}
