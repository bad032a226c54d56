package dbfile

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"
)

// truncateWait is how long TruncateLog waits for readers.
const truncateWait = 100 * time.Millisecond

// TruncateLog moves the write-ahead log into the database and empties it, because the log keeps
// pages as they were before something was deleted. It reports false if somebody reads the database.
// With atOnce it does not wait for readers. It is called outside a transaction.
func TruncateLog(conn driver.Conn, atOnce bool) bool {
	ctx, wait := context.Background(), truncateWait
	if atOnce {
		wait = 0
	}
	setTimeout := func(d time.Duration) error {
		return exec(ctx, conn, fmt.Sprintf("PRAGMA busy_timeout = %d", d.Milliseconds()))
	}
	err := setTimeout(wait)
	var busy any = int64(1)
	if err == nil {
		busy, err = queryFirst(ctx, conn, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return errors.Join(err, setTimeout(busyTimeout)) == nil && busy == int64(0)
}

// queryFirst returns the first value of the first row of a query.
func queryFirst(ctx context.Context, conn driver.Conn, query string) (any, error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	values := make([]driver.Value, len(rows.Columns()))
	if err = rows.Next(values); errors.Is(err, io.EOF) {
		err = errors.New("there is no row")
	}
	return values[0], errors.Join(err, rows.Close())
}
