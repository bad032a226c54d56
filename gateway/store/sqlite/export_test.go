package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"

	"nanobot/internal/dbfile"
)

// Migrate brings the schema of the state in dir forward, on a connection whose statements edit may
// change.
func Migrate(ctx context.Context, dir string, edit func(query string) string) error {
	c, err := dbfile.Connector(filepath.Join(dir, Database), nil, "synchronous(FULL)")
	if err != nil {
		return err
	}
	t, err := newTx(ctx, c)
	if err != nil {
		return err
	}
	t.conn = editing{t.conn, edit}
	if _, err := t.row("PRAGMA journal_mode = WAL", nil, new(string)); err != nil {
		return errors.Join(err, t.close())
	}
	return errors.Join(t.migrate(), t.close())
}

// editing is a connection whose statements are changed before they are parsed.
type editing struct {
	driver.Conn
	edit func(query string) string
}

func (e editing) Prepare(query string) (driver.Stmt, error) { return e.Conn.Prepare(e.edit(query)) }
