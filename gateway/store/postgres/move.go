package postgres

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"nanobot/internal/dbfile"
)

// MoveSource is a SQLite database whose rows are moved. Nobody changes it meanwhile.
type MoveSource struct {
	Path   string
	Prefix string // of the names of its tables in PostgreSQL
	Create string // the statements that create these tables; "": those of the store
}

// Moved is how many rows were copied into a table.
type Moved struct {
	Table string
	Rows  int64
}

// moved is the owner of what was under way: a member that is gone, so that members adopt it.
const moved = "coalesce(nullif(owner, ''), 'moved')"

// expressions are the columns whose values are not those of the same column of SQLite, as
// expressions of SQLite. No change has the number -1.
var expressions = map[string]string{
	"inbox.op": "-1", "outbox.op": "-1", "transient.op": "-1", "details.op": "-1",
	"inbox.owner":     "CASE state WHEN 'running' THEN " + moved + " ELSE '' END",
	"outbox.owner":    "CASE state WHEN 'sending' THEN " + moved + " ELSE '' END",
	"transient.owner": moved,
	"details.owner":   "CASE WHEN fold > 0 THEN " + moved + " ELSE '' END",
	"inbox.person": `coalesce(CASE WHEN json_valid(incoming) THEN
		CASE origin WHEN 'person' THEN incoming ->> '$.user.id' ELSE incoming ->> '$.maker' END END, '')`,
	"inbox.erased": `coalesce(CASE WHEN json_valid(incoming) THEN incoming ->> 'text' = '' AND incoming ->> 'media' IS NULL
		AND incoming ->> 'press' IS NULL END, 0)`,
	"pairing.person": "user", "told_later.person": "user",
}

// Move copies all tables of the sources into the schema of a bot, which must be empty, with their
// IDs and times. copyFiles is called when all rows are copied. After an error there is nothing in
// the schema.
func Move(ctx context.Context, o Options, sources []MoveSource, copyFiles func() error) (all []Moved, err error) {
	s := &state{migrations: current(), schema: "nanobot_" + o.Bot, member: o.Name, ttl: o.TTL, attempt: o.TTL / 5}
	c, err := s.parseURL(o)
	if err != nil {
		return nil, err
	}
	for _, limit := range []string{"statement_timeout", "idle_in_transaction_session_timeout", "tcp_user_timeout"} {
		c.ConnConfig.RuntimeParams[limit] = "0"
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return nil, err
	}
	defer s.pool.Close()
	if err := s.checkServer(ctx); err != nil {
		return nil, explainError(err, c.ConnConfig)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(t pgx.Tx) error {
		if err := s.createEmpty(ctx, t); err != nil {
			return explainError(err, c.ConnConfig)
		}
		for _, from := range sources {
			moved, err := copyDatabase(ctx, t, from)
			if err != nil {
				return fmt.Errorf("copy %s: %w", from.Path, dbfile.Explain(err))
			}
			all = append(all, moved...)
		}
		return copyFiles()
	})
	return all, err
}

// createEmpty creates the tables in a schema that has nothing yet.
func (s *state) createEmpty(ctx context.Context, t pgx.Tx) error {
	if _, err := t.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", s.schema); err != nil {
		return err
	}
	var used bool
	err := t.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace n WHERE nspname IN ($1, $2)
		AND (EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = n.oid)
			OR EXISTS (SELECT 1 FROM pg_proc WHERE pronamespace = n.oid)))`, s.schema, s.functionSchema()).Scan(&used)
	if err == nil && used {
		return fmt.Errorf("the schema %[1]s is not empty, and what it has is not replaced: set another "+
			"gateway.bot, or, if nobody needs it, run DROP SCHEMA %[1]s, %[2]s CASCADE",
			pgx.Identifier{s.schema}.Sanitize(), pgx.Identifier{s.functionSchema()}.Sanitize())
	}
	for _, schema := range []string{s.schema, s.functionSchema()} {
		if err == nil {
			err = createSchema(ctx, t, schema)
		}
	}
	if err == nil {
		err = s.runSteps(ctx, t, 0, false)
	}
	if err == nil {
		_, err = t.Exec(ctx, "SET LOCAL search_path = "+pgx.Identifier{s.schema}.Sanitize())
	}
	return err
}

// copyDatabase copies all tables of a source.
func copyDatabase(ctx context.Context, t pgx.Tx, from MoveSource) (all []Moved, err error) {
	if _, err := t.Conn().PgConn().Exec(ctx, from.Create).ReadAll(); err != nil {
		return nil, err
	}
	c, err := dbfile.Connector(from.Path, nil, "query_only(1)")
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	defer func() { err = errors.Join(err, db.Close()) }()
	tables, err := scanTexts(db.QueryContext(ctx,
		"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'search%' "+
			"ORDER BY name")) // triggers build the index of the search
	for _, table := range tables {
		if err != nil {
			break
		}
		m := tableMove{tx: t, from: db, table: table, to: from.Prefix + table}
		if err = m.findColumns(ctx); err == nil {
			err = m.copy(ctx)
		}
		if err == nil {
			err = m.setSequences(ctx)
		}
		err = wrapError("table "+table, err)
		all = append(all, Moved{m.to, m.rows})
	}
	return all, err
}

func scanTexts(rows *sql.Rows, err error) (all []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// tableMove is the copying of a table.
type tableMove struct {
	tx        pgx.Tx
	from      *sql.DB
	table, to string
	columns   []moveColumn
	rows      int64
}

// moveColumn is a column in PostgreSQL.
type moveColumn struct {
	Name, Type string
	Identity   bool
	from       string // an expression of SQLite
}

// findColumns finds the source of each column, and that no column is left out.
func (m *tableMove) findColumns(ctx context.Context) error {
	rows, err := m.tx.Query(ctx, `SELECT column_name::text, data_type::text, is_identity = 'YES' FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position`, m.to)
	if err == nil {
		m.columns, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c moveColumn, err error) {
			return c, row.Scan(&c.Name, &c.Type, &c.Identity)
		})
	}
	if err != nil {
		return err
	}
	have, err := scanTexts(m.from.QueryContext(ctx, "SELECT name FROM pragma_table_info(?)", m.table))
	left := map[string]bool{}
	for _, name := range have {
		left[name] = true
	}
	for i, c := range m.columns {
		name, special := expressions[m.to+"."+c.Name]
		if !special {
			name = c.Name
		}
		if !special && !left[name] {
			return fmt.Errorf("SQLite has no column %s", name)
		}
		m.columns[i].from = name
		delete(left, name)
		delete(left, c.Name)
	}
	for name := range left {
		return fmt.Errorf("PostgreSQL has no column %s", name)
	}
	return err
}

// copy copies the rows.
func (m *tableMove) copy(ctx context.Context) error {
	names, sources := make([]string, len(m.columns)), make([]string, len(m.columns))
	values, to := make([]any, len(m.columns)), make([]any, len(m.columns))
	for i, c := range m.columns {
		names[i], sources[i], to[i] = c.Name, c.from, &values[i]
	}
	query := "SELECT " + strings.Join(sources, ", ") + " FROM " + m.table
	rows, err := m.from.QueryContext(ctx, query) //nolint:gosec // our own names
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err says it
	m.rows, err = m.tx.CopyFrom(ctx, pgx.Identifier{m.to}, names, pgx.CopyFromFunc(func() ([]any, error) {
		if !rows.Next() {
			return nil, rows.Err()
		}
		err := rows.Scan(to...)
		for i, v := range values {
			values[i] = m.columns[i].convert(v)
		}
		return values, err
	}))
	return err
}

// convert returns the value of SQLite as PostgreSQL has it.
func (c moveColumn) convert(value any) any {
	switch v := value.(type) {
	case int64:
		if c.Type == "boolean" {
			return v != 0
		}
	case []byte:
		if c.Type != "bytea" {
			return hex.EncodeToString(v)
		}
	case string:
		if c.Type == "bytea" {
			return []byte(v)
		}
		return replaceInvalid(v)
	}
	return value
}

// setSequences has the next rows get IDs after all that SQLite has given.
func (m *tableMove) setSequences(ctx context.Context) error {
	for _, c := range m.columns {
		if !c.Identity {
			continue
		}
		var last int64
		err := m.from.QueryRowContext(ctx,
			"SELECT max(coalesce((SELECT max("+c.Name+") FROM "+m.table+"), 0), "+ //nolint:gosec // our own names
				" coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0))", m.table).Scan(&last)
		if err == nil && last > 0 {
			_, err = m.tx.Exec(ctx, "SELECT setval(pg_get_serial_sequence($1, $2), $3)", m.to, c.Name, last)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
