package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// change carries out a write. It adds the operation to an error.
func (s *state) change(ctx context.Context, what string, do func(*tx)) error {
	if err := s.checkDamage(s.writer.submit(ctx, do)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// changed carries out a write that has a result, which is zero after an error.
func changed[T any](ctx context.Context, s *state, what string, do func(*tx) T) (T, error) {
	result, _, err := changedPair(ctx, s, what, func(t *tx) (T, struct{}) { return do(t), struct{}{} })
	return result, err
}

// changedPair carries out a write that has two results, which are zero after an error.
func changedPair[T, U any](ctx context.Context, s *state, what string, do func(*tx) (T, U)) (one T, two U, err error) {
	if err := s.change(ctx, what, func(t *tx) { one, two = do(t) }); err != nil {
		var none T
		var neither U
		return none, neither, err
	}
	return one, two, nil
}

// checkDamage ends the use of the store if an error means that it is damaged.
func (s *state) checkDamage(err error) error {
	if err == nil {
		return nil
	}
	return markFull(s.watch.FailIfDamaged(s.path, err))
}

// queryRow reads one row outside the writer. It reports false when there is none.
func (s *state) queryRow(ctx context.Context, query string, args []any, into ...any) (bool, error) {
	stmt, err := s.prepared(ctx, query)
	if err != nil {
		return false, s.checkDamage(err)
	}
	err = stmt.QueryRowContext(ctx, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, s.checkDamage(err)
}

// queryRows reads rows outside the writer, one by one.
func (s *state) queryRows(ctx context.Context, query string, args []any, do func(scan func(...any) error) error) error {
	stmt, err := s.prepared(ctx, query)
	if err != nil {
		return s.checkDamage(err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return s.checkDamage(err)
	}
	for err == nil && rows.Next() {
		err = do(rows.Scan)
	}
	return s.checkDamage(errors.Join(err, rows.Err(), rows.Close()))
}

// prepared returns the prepared statement of a query outside the writer. Parsing takes longer than
// most queries, so it is done once.
func (s *state) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
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

// errUnreadable says that a row cannot be decoded.
var errUnreadable = errors.New("unreadable")

// The destinations of columns whose stored form differs from their type.
type (
	timeColumn struct{ to *time.Time }
	chatColumn struct{ to *channels.Chat }
	// jsonColumn is a value in JSON. An empty text of an optional one leaves the value as it is.
	jsonColumn struct {
		to       any
		optional bool
	}
)

func (c timeColumn) Scan(v any) error {
	us, ok := v.(int64)
	if !ok {
		return fmt.Errorf("%w: a time is a %T", errUnreadable, v)
	}
	*c.to = fromMicros(us)
	return nil
}

func (c chatColumn) Scan(v any) error {
	key, ok := v.(string)
	if !ok {
		return fmt.Errorf("%w: a chat is a %T", errUnreadable, v)
	}
	*c.to = chatOf(key)
	return nil
}

func (c jsonColumn) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("%w: JSON is a %T", errUnreadable, v)
	}
	if text == "" && c.optional {
		return nil
	}
	if err := json.Unmarshal([]byte(text), c.to); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return nil
}

// scanner reads a value from a row.
type scanner[T any] = func(scan func(...any) error) (T, error)

// column reads a value from the only column of a row.
func column[T any](scan func(...any) error) (v T, err error) { return v, scan(&v) }

const inboundColumns = "id, agent, owner, state, attempt, received, started, ended, status, exit_code, signal, " +
	"memory, cpu, not_before, incoming"

// selectInbound is followed by a condition on rows of inbox.
const selectInbound = "SELECT " + inboundColumns + " FROM inbox WHERE "

func scanInbound(scan func(...any) error) (i store.Inbound, err error) {
	var cpu int64
	err = scan(&i.ID, &i.Agent, &i.Owner, &i.State, &i.Attempt, timeColumn{&i.Received}, timeColumn{&i.Started},
		timeColumn{&i.Ended},
		&i.Outcome.Status, &i.Outcome.ExitCode, &i.Outcome.Signal, &i.Outcome.Memory, &cpu, timeColumn{&i.NotBefore},
		jsonColumn{to: &i.In})
	i.Outcome.CPU = time.Duration(cpu) * time.Microsecond
	return i, wrapError("inbound message %d", err, i.ID)
}

// selectDelivery is followed by a condition on rows of outbox.
const selectDelivery = "SELECT id, inbound, state, tries, not_before, reason, doubtful, receipt, queued, outgoing " +
	"FROM outbox WHERE "

func scanDelivery(scan func(...any) error) (d store.Delivery, err error) {
	err = scan(&d.ID, &d.Inbound, &d.State, &d.Tries, timeColumn{&d.NotBefore}, &d.Err, &d.Doubtful, &d.Receipt,
		timeColumn{&d.Queued}, jsonColumn{to: &d.Out})
	d.Inbound = max(d.Inbound, 0) // messages to outsiders answer no inbound message
	return d, wrapError("delivery %d", err, d.ID)
}

// queryInbound reads one inbound message. It reports false if there is none or if it is unreadable,
// which the error says.
func queryInbound(t *tx, query string, args ...any) (_ store.Inbound, found bool, unreadable error) {
	scan := func(scan func(...any) error) (i store.Inbound, err error) {
		if i, err = scanInbound(scan); errors.Is(err, errUnreadable) {
			unreadable, err = err, nil
		}
		return i, err
	}
	rows := queryAllTx(t, scan, query, args...)
	if len(rows) == 0 || unreadable != nil {
		return store.Inbound{}, false, unreadable
	}
	return rows[0], true, nil
}

// appendRows collects the rows of a query.
func appendRows[T any](scan scanner[T], query func(do func(scan func(...any) error) error) error) (all []T, err error) {
	err = query(func(row func(...any) error) error {
		v, err := scan(row)
		if err == nil {
			all = append(all, v)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// readAll reads all rows of a query outside the writer. It adds the operation to an error.
func readAll[T any](ctx context.Context, s *state, what string, scan scanner[T], query string, args ...any) (
	[]T, error,
) {
	all, err := appendRows(scan, func(do func(scan func(...any) error) error) error {
		return s.queryRows(ctx, query, args, do)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return all, nil
}

// readOne reads the only row of a query outside the writer. It reports false if there is none.
func readOne[T any](ctx context.Context, s *state, what string, scan scanner[T], query string, args ...any) (
	one T, found bool, err error,
) {
	all, err := readAll(ctx, s, what, scan, query, args...)
	if len(all) > 0 {
		one = all[0]
	}
	return one, len(all) > 0, err
}

// readValue reads the only column of the only row of a query outside the writer, or a zero value.
func readValue[T any](ctx context.Context, s *state, what, query string, args ...any) (T, error) {
	v, _, err := readOne(ctx, s, what, column[T], query, args...)
	return v, err
}

// wrapError adds the operation to an error, if there is one.
func wrapError(what string, err error, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(what+": %w", append(args, err)...)
}
