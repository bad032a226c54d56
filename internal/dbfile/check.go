package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"
)

// Report is the result of a check.
type Report struct {
	Complete bool  // false: the check was cancelled
	Size     int64 // of the file, in bytes
	Took     time.Duration
}

// Check reads a whole database: every page, the order of every table and index, and whether they
// agree. Damage is ErrDamaged. If ctx ends before, the report says so, and the rest is unknown.
func Check(ctx context.Context, path string) (Report, error) {
	if err := Inspect(path); err != nil {
		return Report{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Report{}, err
	}
	r, began := Report{Size: info.Size()}, time.Now()
	c, err := Connector(path, nil, "query_only(1)", "cache_size(-8192)")
	if err != nil {
		return r, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	var verdict string
	err = db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict)
	err = errors.Join(err, db.Close())
	r.Took = time.Since(began)
	switch {
	case err != nil && ctx.Err() != nil:
		return r, nil //nolint:nilerr // the report says that it was cancelled
	case err != nil:
		return r, fmt.Errorf("check: %w", Explain(err))
	case verdict != "ok":
		return r, Damaged("%s", verdict)
	}
	r.Complete = true
	return r, nil
}

// CheckSchema is Check for a database whose schema version must be at most newest.
func CheckSchema(ctx context.Context, path string, newest int) error {
	r, err := Check(ctx, path)
	if err == nil && !r.Complete {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	c, err := Connector(path, nil, "query_only(1)")
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	var have int
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have)
	switch err = errors.Join(err, db.Close()); {
	case err != nil:
		return Explain(err)
	case have > newest:
		return Newer(have, newest)
	case have < 1:
		return Damaged("it has no schema")
	}
	return nil
}
