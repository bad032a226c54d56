package sqlite

import (
	"database/sql/driver"
)

// tx is one change within the writer's transaction. After its first error, its statements do
// nothing and find nothing, so that a change need not check each of them: the writer sees the error
// and rolls the change back.
type tx struct {
	conn   *conn
	err    error
	erased bool // something was erased that the log may still contain
}

// fail ends the change with an error, if err is one and the change has not failed before.
func (t *tx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *tx) exec(query string, args ...any) { t.execResult(query, args) }

func (t *tx) execResult(query string, args []any) driver.Result {
	if t.err != nil {
		return driver.RowsAffected(0)
	}
	r, err := t.conn.exec(query, args...)
	if t.fail(err); err != nil {
		return driver.RowsAffected(0)
	}
	return r
}

// execCount is exec and returns the number of changed rows.
func (t *tx) execCount(query string, args ...any) int {
	n, err := t.execResult(query, args).RowsAffected()
	t.fail(err)
	return int(n)
}

// execInsert is exec and returns the ID of the new row.
func (t *tx) execInsert(query string, args ...any) int64 {
	id, err := t.execResult(query, args).LastInsertId()
	t.fail(err)
	return id
}

// queryRow reads one row. It reports false if there is none.
func (t *tx) queryRow(query string, args []any, into ...any) bool {
	if t.err != nil {
		return false
	}
	found, err := t.conn.queryRow(query, args, into...)
	t.fail(err)
	return found
}

// exists reports whether a query finds a row, which has one number.
func (t *tx) exists(query string, args ...any) bool { return t.queryRow(query, args, new(int)) }

// queryAllTx reads all rows of a query.
func queryAllTx[T any](t *tx, scan scanner[T], query string, args ...any) []T {
	if t.err != nil {
		return nil
	}
	all, err := appendRows(scan, func(do func(scan func(...any) error) error) error {
		return t.conn.queryRows(query, args, do)
	})
	t.fail(err)
	return all
}
