package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"nanobot/gateway/store"
)

// scope says which chats a change concerns: they are locked during the change.
type scope struct {
	kind string // see the function chats_of
	id   string
}

// changeRequest is a change.
type changeRequest struct {
	what     string // for errors
	function string // of the database, which makes it
	scope    scope
	args     any // encoded as JSON
	// found says that function finds its answer in the rows when it is repeated. Otherwise the
	// answer is stored, so it must be short.
	found bool
	hint  bool // other members want to know of the change
}

// change makes a change and decodes its answer into answer, unless that is nil. A call whose answer
// was lost is repeated with the same number, so that the change is made once.
func (s *state) change(ctx context.Context, r changeRequest, answer any) error {
	args, err := json.Marshal(r.args)
	if err != nil {
		return fmt.Errorf("%s: encode: %w", r.what, err)
	}
	slot, err := s.takeSlot(ctx)
	if err != nil {
		return wrapError(r.what, err)
	}
	defer func() { s.slots <- slot }()
	var text *string
	number := s.ops.Add(1)
	err = s.retry(ctx, func(context.Context) error {
		// The end of ctx does not end a try, because the change may have been made.
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.attempt)
		defer cancel()
		return s.call(try, slot, number, r, args, &text)
	})
	if err == nil && r.hint {
		s.hint()
	}
	if err == nil && answer != nil && text != nil {
		err = json.Unmarshal([]byte(*text), answer)
	}
	return wrapError(r.what, err)
}

func (s *state) takeSlot(ctx context.Context) (slot int, err error) {
	if ctx.Err() == nil {
		select {
		case slot = <-s.slots:
			return slot, nil
		case <-ctx.Done():
		}
	}
	return 0, context.Cause(ctx)
}

// call makes a change in one round trip. The slot has no other call, and number is larger than the
// numbers of its earlier calls, so that the database refuses an earlier request that arrives late.
func (s *state) call(ctx context.Context, slot int, number int64, r changeRequest, args []byte, answer **string) error {
	return s.pool.QueryRow(ctx, "SELECT change($1, $2, $3, $4, $5, $6, $7, $8, $9)", s.member, slot, number, s.time(),
		!r.found, r.scope.kind, replaceInvalid(r.scope.id), r.function, json.RawMessage(replaceNUL(args))).Scan(answer)
}

// retry calls the database until it answers, the member would be lost, or ctx ends.
func (s *state) retry(ctx context.Context, call func(ctx context.Context) error) error {
	deadline := time.Now().Add(s.ttl * 2 / 3)
	for wait := firstPause; ; wait = min(2*wait, s.attempt) {
		attempt, cancel := context.WithTimeout(ctx, s.attempt)
		err := call(attempt)
		cancel()
		if err == nil || !isTransient(err) || s.closed.Load() || time.Until(deadline) < wait {
			return classify(err)
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if !isBusy(err) { // a connection that is lost, or whose server no longer writes, is seldom the only one
			s.pool.Reset()
			s.beats.Reset()
		}
		pause(ctx, wait)
	}
}

// firstPause is the time after which a call is repeated for the first time.
const firstPause = 5 * time.Millisecond

// isTransient reports whether a call that failed is to be repeated: its answer was lost, or the
// database could not carry it out now.
func isTransient(err error) bool {
	code := errorCode(err)
	if code == "" || isBusy(err) {
		return true
	}
	switch code[:2] {
	case "08", "57": // connection exceptions, and interventions of the operator
		return true
	}
	return code == "25006" || code == "25P03" // the server became a standby; a transaction was idle for too long
}

// isBusy reports whether a call failed because of others, on a connection that is good: deadlocks,
// timeouts, too many connections.
func isBusy(err error) bool {
	switch code := errorCode(err); code {
	case "":
		return false
	case "55P03", "57014", "53200", "53300":
		return true
	default:
		return code[:2] == "40"
	}
}

// isSlow reports whether a call failed because the server, or this program, took too long.
func isSlow(err error) bool {
	// The pool returns the context's own error, which pgconn.Timeout does not recognize.
	return errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) || isBusy(err) || errorCode(err) == "25P03"
}

// errorCode returns PostgreSQL's code of an error, "" if the server did not answer.
func errorCode(err error) string {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return ""
	}
	return answer.Code
}

// classify turns the errors that functions raise into those of the contract.
func classify(err error) error {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return err
	}
	switch answer.Code {
	case "NB001":
		return fmt.Errorf("%w: %s", store.ErrState, answer.Message)
	case "NB002":
		return store.ErrFenced
	case "NB003":
		return store.ErrKept
	case "53100":
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return err
}

// replaceNUL replaces the character U+0000 in JSON, which PostgreSQL cannot store, by U+FFFD.
func replaceNUL(text []byte) []byte {
	const escaped = `\u0000`
	if !bytes.Contains(text, []byte(escaped)) {
		return text
	}
	text = bytes.Clone(text)
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(text[i:], []byte(escaped)) {
			copy(text[i:], `\ufffd`)
		}
		i++ // the character after a backslash is escaped by it
	}
	return text
}

// replaceInvalid replaces what PostgreSQL does not accept in a text by U+FFFD.
func replaceInvalid(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}

// readAll reads all rows of a query, which have one column of JSON.
func readAll[T any](ctx context.Context, s *state, what, query string, args ...any) (all []T, err error) {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = replaceInvalid(text)
		}
	}
	var rows [][]byte
	err = s.read(ctx, func(ctx context.Context) error {
		answer, err := s.pool.Query(ctx, query, args...)
		if err == nil {
			rows, err = pgx.CollectRows(answer, pgx.RowTo[[]byte])
		}
		return err
	})
	for i := 0; i < len(rows) && err == nil; i++ {
		var v T
		if err = json.Unmarshal(rows[i], &v); err == nil {
			all = append(all, v)
		}
	}
	return all, wrapError(what, err)
}

// read calls the database beside the changes. Only maxReads calls do so at a time, so that the beat
// always has a connection.
func (s *state) read(ctx context.Context, call func(ctx context.Context) error) error {
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return s.retry(ctx, call)
}

// readOne reads the first row of a query. It reports false if there is none.
func readOne[T any](ctx context.Context, s *state, what, query string, args ...any) (one T, found bool, err error) {
	all, err := readAll[T](ctx, s, what, query, args...)
	if len(all) > 0 {
		one = all[0]
	}
	return one, len(all) > 0, err
}

// readValue reads the first row of a query, or a zero value.
func readValue[T any](ctx context.Context, s *state, what, query string, args ...any) (T, error) {
	v, _, err := readOne[T](ctx, s, what, query, args...)
	return v, err
}

// wrapError adds the operation to an error, if there is one.
func wrapError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
