package history

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"

	"nanobot/internal/dbfile"
)

// Snapshot copies the database of a history while it may be in use. The gateway's own store is to be copied by meanwhile, because neither
// moment would do for both: what the gateway had not taken when its store was copied is not taken in the copy either, so that it is offered
// again, and what the gateway has sent since is sent again under the same key, which changes nothing.
//
// It returns the names of the files that came with what was said.
func Snapshot(ctx context.Context, dir, to string, meanwhile func() error) (media []string, err error) {
	path := filepath.Join(dir, Database)
	if err := dbfile.Inspect(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	c, err := connector(path, "query_only(1)")
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	defer func() { err = errors.Join(err, db.Close()) }()
	var have int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, dbfile.Explain(err))
	}
	if have > version {
		return nil, fmt.Errorf("%s: %w", path, dbfile.Newer(have, version))
	}
	var first int64
	err = db.QueryRowContext(ctx, `SELECT coalesce((SELECT min(seq) FROM events WHERE taken = 0), (SELECT seq + 1 FROM sqlite_sequence WHERE name = 'events'), 0)`).Scan(&first)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, dbfile.Explain(err))
	}
	if err := meanwhile(); err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // db.Close says it
	copied := filepath.Join(to, Database)
	err = conn.Raw(func(raw any) error { return dbfile.Copy(ctx, raw.(driver.Conn), copied) })
	if err == nil {
		media, err = offerAgain(ctx, copied, first)
	}
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", path, err)
	}
	return media, nil
}

// offerAgain has the gateway be offered what people said from a number on. It returns the files of a history.
func offerAgain(ctx context.Context, path string, first int64) (media []string, err error) {
	c, err := connector(path, "journal_mode(DELETE)", "synchronous(FULL)") // one file
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, "UPDATE events SET taken = 0 WHERE seq >= ? AND (type = 'pressed' OR CAST(body AS TEXT) ->> 'from' = 'user')", first)
	if err == nil {
		media, err = column[string](db.QueryContext(ctx, "SELECT id FROM media"))
	}
	return media, errors.Join(err, db.Close())
}

// CheckCopy finds out whether a file is a whole and sound history of a schema that this nanobot knows.
func CheckCopy(ctx context.Context, path string) error { return dbfile.CheckSchema(ctx, path, version) }
