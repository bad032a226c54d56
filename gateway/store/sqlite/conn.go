package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"nanobot/gateway/store"
)

// conn is a connection with its prepared statements. It uses the driver without database/sql, whose
// pool and conversions cost a fifth of a write.
type conn struct {
	driver     driver.Conn
	statements map[string]driver.Stmt // prepared statements, by their text
	args       []driver.NamedValue    // reused by every statement
}

func newConn(c driver.Conn) *conn { return &conn{driver: c, statements: map[string]driver.Stmt{}} }

func connect(ctx context.Context, c driver.Connector) (*conn, error) {
	d, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return newConn(d), nil
}

func (c *conn) close() error {
	errs := make([]error, 0, len(c.statements)+1)
	for _, s := range c.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.driver.Close())...)
}

// execScript runs statements without preparing them for reuse.
func (c *conn) execScript(text string) error {
	s, err := c.driver.Prepare(text)
	if err != nil {
		return err
	}
	_, err = s.(driver.StmtExecContext).ExecContext(context.Background(), nil)
	return errors.Join(err, s.Close())
}

func (c *conn) prepared(query string) (driver.Stmt, error) {
	if s := c.statements[query]; s != nil {
		return s, nil
	}
	s, err := c.driver.Prepare(query)
	if err != nil {
		return nil, err
	}
	c.statements[query] = s
	return s, nil
}

func (c *conn) exec(query string, args ...any) (driver.Result, error) {
	s, err := c.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.(driver.StmtExecContext).ExecContext(context.Background(), c.bind(args))
}

// queryRow reads one row. It reports false if there is none.
func (c *conn) queryRow(query string, args []any, into ...any) (bool, error) {
	found := false
	err := c.queryRows(query, args, func(scan func(...any) error) error {
		found = true
		return scan(into...)
	})
	return found && err == nil, err
}

// errStopRows ends the reading of rows early.
var errStopRows = errors.New("stop reading rows")

// queryRows reads rows one by one, until do returns an error.
func (c *conn) queryRows(query string, args []any, do func(scan func(...any) error) error) error {
	s, err := c.prepared(query)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return err
	}
	values := make([]driver.Value, len(rows.Columns()))
	for {
		if err = rows.Next(values); err != nil {
			break
		}
		if err = do(func(into ...any) error { return assign(into, values) }); err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, errStopRows) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// bind converts arguments to the driver's types.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		switch v := a.(type) {
		case int:
			a = int64(v)
		case bool:
			a = int64(0)
			if v {
				a = int64(1)
			}
		case store.State:
			a = string(v)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// assign converts the driver's values to the types of variables.
func assign(into []any, values []driver.Value) error {
	for i, v := range values {
		if s, ok := into[i].(sql.Scanner); ok {
			if err := s.Scan(v); err != nil {
				return fmt.Errorf("column %d: %w", i, err)
			}
		} else if !assignOne(into[i], v) {
			return fmt.Errorf("column %d: cannot store a %T in a %T", i, v, into[i])
		}
	}
	return nil
}

func assignOne(into any, value driver.Value) bool {
	switch v := value.(type) {
	case int64:
		switch into := into.(type) {
		case *int64:
			*into = v
		case *int:
			*into = int(v)
		case *bool:
			*into = v != 0
		default:
			return false
		}
	case string:
		switch into := into.(type) {
		case *string:
			*into = v
		case *store.State:
			*into = store.State(v)
		case *[]byte:
			*into = []byte(v)
		default:
			return false
		}
	case float64:
		number, ok := into.(*float64)
		if ok {
			*number = v
		}
		return ok
	default:
		return false
	}
	return true
}

// markFull marks an error of SQLite as store.ErrFull if the disk is full. An exceeded quota is
// reported as a failed write.
func markFull(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_FULL || e.Code() == sqlite3.SQLITE_IOERR_WRITE) {
		return store.Mark(err, store.ErrFull)
	}
	return err
}
