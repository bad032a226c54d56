package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"nanobot/gateway/store"
)

// tx is the writer's connection and the queries of its current transaction. It uses the driver
// without database/sql, whose pool and conversions cost a fifth of a write.
type tx struct {
	conn       driver.Conn
	statements map[string]driver.Stmt // prepared statements, by their text
	args       []driver.NamedValue    // reused by every statement
	erased     bool                   // something was erased that the log may still contain
}

func newTx(ctx context.Context, c driver.Connector) (*tx, error) {
	conn, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &tx{conn: conn, statements: map[string]driver.Stmt{}}, nil
}

func (t *tx) close() error {
	errs := make([]error, 0, len(t.statements)+1)
	for _, s := range t.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, t.conn.Close())...)
}

// execScript runs statements without preparing them for reuse.
func (t *tx) execScript(text string) error {
	s, err := t.conn.Prepare(text)
	if err != nil {
		return err
	}
	_, err = s.(driver.StmtExecContext).ExecContext(context.Background(), nil)
	return errors.Join(err, s.Close())
}

func (t *tx) prepared(query string) (driver.Stmt, error) {
	if s := t.statements[query]; s != nil {
		return s, nil
	}
	s, err := t.conn.Prepare(query)
	if err != nil {
		return nil, err
	}
	t.statements[query] = s
	return s, nil
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.execResult(query, args)
	return err
}

func (t *tx) execResult(query string, args []any) (driver.Result, error) {
	s, err := t.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.(driver.StmtExecContext).ExecContext(context.Background(), t.bind(args))
}

// execCount is exec and returns the number of changed rows.
func (t *tx) execCount(query string, args ...any) (int, error) {
	r, err := t.execResult(query, args)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	return int(n), err
}

// execInsert is exec and returns the ID of the new row.
func (t *tx) execInsert(query string, args ...any) (int64, error) {
	r, err := t.execResult(query, args)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// queryRow reads one row. It reports false if there is none.
func (t *tx) queryRow(query string, args []any, into ...any) (bool, error) {
	found := false
	err := t.queryRows(query, args, func(scan func(...any) error) error {
		found = true
		return scan(into...)
	})
	return found && err == nil, err
}

// queryRows reads rows one by one.
func (t *tx) queryRows(query string, args []any, do func(scan func(...any) error) error) error {
	s, err := t.prepared(query)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), t.bind(args))
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
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// bind converts arguments to the driver's types.
func (t *tx) bind(args []any) []driver.NamedValue {
	t.args = t.args[:0]
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
		t.args = append(t.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return t.args
}

// assign converts the driver's values to the types of variables.
func assign(into []any, values []driver.Value) error {
	for i, v := range values {
		if !assignOne(into[i], v) {
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
	default:
		return false
	}
	return true
}
