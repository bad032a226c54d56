package dbfile

import (
	"context"
	"errors"
	"time"
)

// vacuumPause is the time after which Vacuum tries again, because somebody uses the database.
const vacuumPause = 50 * time.Millisecond

// Vacuum writes a whole database again and empties its write-ahead log, so that no page has a copy
// of what was deleted: SQLite leaves copies of rows that it has moved to another page. Other
// processes can use the database, but cannot change it meanwhile.
func Vacuum(ctx context.Context, path string) (err error) {
	c, err := Connector(path, nil, "synchronous(FULL)", "temp_store(FILE)") // the copy may be large
	if err != nil {
		return err
	}
	conn, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := exec(ctx, conn, "VACUUM"); err != nil {
		return err
	}
	for !TruncateLog(conn, false) {
		select {
		case <-time.After(vacuumPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
