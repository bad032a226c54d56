package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"
)

// Report says what a check has seen.
type Report struct {
	Whole bool  // false: it was ended before it was through
	Size  int64 // of the file, in bytes
	Took  time.Duration
}

// Check reads a database through: every page, the order of every table and index, and whether they agree. Damage is ErrDamaged. When ctx
// ends before that, the report says so, and nothing is known of the rest.
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
		return r, nil //nolint:nilerr // the report says that it was ended
	case err != nil:
		return r, fmt.Errorf("check: %w", Explain(err))
	case verdict != "ok":
		return r, Damaged("%s", verdict)
	}
	r.Whole = true
	return r, nil
}
