package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"nanobot/gateway/store"
)

// change carries out a write. It adds the operation to an error.
func (s *Store) change(ctx context.Context, what string, do func(*tx) error) error {
	if err := s.checkDamage(s.writer.submit(ctx, do)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// checkDamage ends the use of the store if an error means that it is damaged.
func (s *Store) checkDamage(err error) error {
	if err == nil {
		return nil
	}
	return markFull(s.watch.FailIfDamaged(s.path, err))
}

// queryRow reads one row outside the writer. It reports false when there is none.
func (s *Store) queryRow(ctx context.Context, query string, args []any, into ...any) (bool, error) {
	stmt, err := s.prepared(ctx, query)
	if err != nil {
		return false, s.checkDamage(err)
	}
	return ignoreNoRows(s.checkDamage(stmt.QueryRowContext(ctx, args...).Scan(into...)))
}

// queryRows reads rows outside the writer, one by one.
func (s *Store) queryRows(ctx context.Context, query string, args []any, do func(scan func(...any) error) error) error {
	stmt, err := s.prepared(ctx, query)
	if err != nil {
		return s.checkDamage(err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return s.checkDamage(err)
	}
	return s.checkDamage(errors.Join(scanRows(rows, do), rows.Close()))
}

// prepared returns the prepared statement of a query outside the writer. Parsing takes longer than
// most queries, so it is done once.
func (s *Store) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	s.statementsMu.Lock()
	defer s.statementsMu.Unlock()
	if stmt := s.statements[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.readDB.PrepareContext(ctx, query)
	if err == nil {
		s.statements[query] = stmt
	}
	return stmt, err
}

func scanRows(rows *sql.Rows, do func(scan func(...any) error) error) error {
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func ignoreNoRows(err error) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// micros is the stored form of a time; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// encodeJSON returns a value as JSON, which cannot fail for the stored types.
func encodeJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqlite: encode %T: %v", v, err))
	}
	return string(b)
}

// errUnreadable says that a row cannot be decoded.
var errUnreadable = errors.New("unreadable")

const inboundColumns = "id, agent, owner, state, attempt, received, started, ended, status, exit_code, signal, memory, cpu, not_before, incoming"

func scanInbound(scan func(...any) error) (store.Inbound, error) {
	var i store.Inbound
	var received, started, ended, cpu, notBefore int64
	var incoming []byte
	err := scan(&i.ID, &i.Agent, &i.Owner, &i.State, &i.Attempt, &received, &started, &ended, &i.Outcome.Status, &i.Outcome.ExitCode, &i.Outcome.Signal,
		&i.Outcome.Memory, &cpu, &notBefore, &incoming)
	if err != nil {
		return store.Inbound{}, err
	}
	i.Outcome.CPU = time.Duration(cpu) * time.Microsecond
	i.Received, i.Started, i.Ended, i.NotBefore = fromMicros(received), fromMicros(started), fromMicros(ended), fromMicros(notBefore)
	if err := json.Unmarshal(incoming, &i.In); err != nil {
		return store.Inbound{}, fmt.Errorf("inbound message %d: %w: %w", i.ID, errUnreadable, err)
	}
	return i, nil
}

const deliveryColumns = "id, inbound, state, tries, not_before, reason, doubtful, receipt, queued, outgoing"

func scanDelivery(scan func(...any) error) (store.Delivery, error) {
	var p store.Delivery
	var notBefore, queued int64
	var outgoing []byte
	if err := scan(&p.ID, &p.Inbound, &p.State, &p.Tries, &notBefore, &p.Err, &p.Doubtful, &p.Receipt, &queued, &outgoing); err != nil {
		return store.Delivery{}, err
	}
	p.Inbound = max(p.Inbound, 0) // messages to outsiders answer no inbound message
	p.NotBefore, p.Queued = fromMicros(notBefore), fromMicros(queued)
	if err := json.Unmarshal(outgoing, &p.Out); err != nil {
		return store.Delivery{}, fmt.Errorf("delivery %d: %w", p.ID, err)
	}
	return p, nil
}

func (t *tx) queryInbound(query string, args ...any) (store.Inbound, bool, error) {
	return queryFirst(t.queryRows, scanInbound, query, args)
}

func (t *tx) queryDelivery(query string, args ...any) (store.Delivery, bool, error) {
	return queryFirst(t.queryRows, scanDelivery, query, args)
}

// queryFirst reads the only row of a query.
func queryFirst[T any](
	each func(string, []any, func(func(...any) error) error) error,
	scan func(func(...any) error) (T, error), query string, args []any,
) (T, bool, error) {
	var got T
	var found bool
	err := each(query, args, func(row func(...any) error) (err error) {
		got, err = scan(row)
		found = true
		return err
	})
	return got, found && err == nil, err
}

// queryAll reads all rows of a query outside the writer.
func queryAll[T any](ctx context.Context, s *Store, scan func(func(...any) error) (T, error), query string, args ...any) ([]T, error) {
	var got []T
	err := s.queryRows(ctx, query, args, func(row func(...any) error) error {
		v, err := scan(row)
		got = append(got, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return got, nil
}

// wrapError adds the operation to an error, if there is one.
func wrapError(what string, err error, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(what+": %w", append(args, err)...)
}
