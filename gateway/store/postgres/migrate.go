package postgres

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed tables*.sql functions/*.sql
var definitions embed.FS

// migrations make the tables and the functions. Each step is a version, in the order of the names
// of the files, and only adds to the version before it. A program with other functions has them in
// another schema, so that members of two versions work side by side.
type migrations struct {
	steps     []string
	functions string // what creates them
}

// current returns the migrations that this program knows.
var current = sync.OnceValue(func() (m migrations) {
	err := fs.WalkDir(definitions, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := definitions.ReadFile(path)
		if strings.HasPrefix(path, "functions/") {
			m.functions += string(text)
		} else {
			m.steps = append(m.steps, string(text))
		}
		return err
	})
	if err != nil {
		panic(err) // an embedded file can be read
	}
	return m
})

// migrateTimeout is how long a member waits for the migration by another one, and for its own.
const migrateTimeout = 5 * time.Minute

// functionSchema returns the schema of the functions.
func (s *state) functionSchema() string {
	sum := sha256.Sum256([]byte(s.functions))
	return "nanobot" + hex.EncodeToString(sum[:3]) + "_" + strings.TrimPrefix(s.schema, "nanobot_")
}

// migrate brings the tables to the newest version. A command does not create them.
func (s *state) migrate(ctx context.Context, command bool) error {
	ctx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	have, err := s.readVersion(ctx, s.pool)
	if err != nil {
		return err
	}
	complete, err := s.hasFunctions(ctx, s.pool)
	switch {
	case err != nil || have == len(s.steps) && complete:
		return err
	case have > len(s.steps):
		return fmt.Errorf("the schema %s has version %d, but this nanobot knows only %d: install a newer nanobot",
			s.schema, have, len(s.steps))
	case have == 0 && command:
		return fmt.Errorf("there is no schema %s yet, which the daemon creates: %w", s.schema, fs.ErrNotExist)
	}
	// The timeouts of the session are shorter than the lease, which this member does not have yet.
	begin := "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = '1min'"
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{BeginQuery: begin}, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", s.schema); err != nil {
			return err
		}
		have, err := s.readVersion(ctx, t)
		if err != nil {
			return err
		}
		complete, err := s.hasFunctions(ctx, t)
		if err != nil || have >= len(s.steps) && complete {
			return err // another member has done it
		}
		for _, schema := range []string{s.schema, s.functionSchema()} {
			if err := createSchema(ctx, t, schema); err != nil {
				return err
			}
		}
		if err := s.runSteps(ctx, t, have, complete); err != nil {
			return err
		}
		return s.dropFunctions(ctx, t)
	})
}

// hasFunctions reports whether the functions of this program are there.
func (s *state) hasFunctions(ctx context.Context, q querier) (has bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE n.nspname = $1 AND p.proname = 'change')`, s.functionSchema()).Scan(&has)
	return has, err
}

// dropFunctions drops the functions that no live member uses.
func (s *state) dropFunctions(ctx context.Context, t pgx.Tx) error {
	rows, err := t.Query(ctx, `SELECT nspname FROM pg_namespace WHERE nspname ~ '^nanobot[0-9a-f]{6}_' AND substr(nspname, 15) = $1
		AND nspname <> $2 AND nspname NOT IN (SELECT functions FROM `+pgx.Identifier{s.schema, "member"}.Sanitize()+` WHERE lease > 0)`,
		strings.TrimPrefix(s.schema, "nanobot_"), s.functionSchema())
	if err != nil {
		return err
	}
	unused, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range unused {
		if err == nil {
			_, err = t.Exec(ctx, "DROP SCHEMA "+pgx.Identifier{name}.Sanitize()+" CASCADE")
		}
	}
	return err
}

// runSteps runs the steps after a version, and creates the functions unless they are there.
func (s *state) runSteps(ctx context.Context, t pgx.Tx, have int, complete bool) error {
	var all strings.Builder
	fmt.Fprintf(&all, "SET LOCAL check_function_bodies = off; SET LOCAL search_path = %s;\n",
		pgx.Identifier{s.schema}.Sanitize())
	for _, step := range s.steps[have:] {
		all.WriteString(step)
	}
	fmt.Fprintf(&all, "UPDATE version SET n = %d; SET LOCAL search_path = %s, %s;\n", len(s.steps),
		pgx.Identifier{s.functionSchema()}.Sanitize(), pgx.Identifier{s.schema}.Sanitize())
	if !complete {
		all.WriteString(s.functions)
	}
	_, err := t.Conn().PgConn().Exec(ctx, all.String()).ReadAll()
	return err
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// readVersion returns the version of the tables; 0: there are none.
func (s *state) readVersion(ctx context.Context, q querier) (n int, err error) {
	var there bool // to_regclass would not always see a table that another member has just created
	if err := q.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'version')",
		s.schema).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = q.QueryRow(ctx, "SELECT n FROM "+pgx.Identifier{s.schema, "version"}.Sanitize()).Scan(&n)
	return n, err
}

// createSchema creates a schema, unless an administrator has done so.
func createSchema(ctx context.Context, t pgx.Tx, name string) error {
	var one int
	err := t.QueryRow(ctx, "SELECT 1 FROM pg_namespace WHERE nspname = $1", name).Scan(&one)
	if errors.Is(err, pgx.ErrNoRows) {
		_, err = t.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{name}.Sanitize())
	}
	return err
}
