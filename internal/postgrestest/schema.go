package postgrestest

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Schema creates an empty schema on the server that the tests of a process share, and returns how
// to connect to it.
func Schema(t testing.TB) *pgx.ConnConfig {
	t.Helper()
	c, err := pgx.ParseConfig(URL(t))
	if err != nil {
		t.Fatal(err)
	}
	c.ConnectTimeout = time.Minute
	c.RuntimeParams["search_path"] = "nanobot_" + strings.ToLower(rand.Text())
	Exec(t, c, "CREATE SCHEMA "+c.RuntimeParams["search_path"])
	return c
}

// Pool lends tests what takes long to create, after the tests that had it before.
type Pool[T any] struct {
	mu   sync.Mutex
	idle []T
}

// Lend returns what no other test uses before this one has ended; then it is emptied.
func (p *Pool[T]) Lend(t testing.TB, create func() T, empty func(T)) (lent T) {
	t.Helper()
	p.mu.Lock()
	last := len(p.idle) - 1
	if last >= 0 {
		lent, p.idle = p.idle[last], p.idle[:last]
	}
	p.mu.Unlock()
	if last < 0 {
		lent = create()
	}
	t.Cleanup(func() {
		empty(lent)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.idle = append(p.idle, lent)
	})
	return lent
}

var schemas Pool[*pgx.ConnConfig]

// Lend returns how to connect to a schema without rows, which earlier tests may have lent: then it
// has the tables that they have created.
func Lend(t testing.TB) *pgx.ConnConfig {
	t.Helper()
	create := func() *pgx.ConnConfig { return Schema(t) }
	return schemas.Lend(t, create, func(c *pgx.ConnConfig) { Exec(t, c, empty) }).Copy()
}

// empty deletes all rows of a schema, and has its sequences start again.
const empty = `DO $$
DECLARE
	t record;
BEGIN
	FOR t IN SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() LOOP
		EXECUTE format('DELETE FROM %I', t.name);
	END LOOP;
	FOR t IN SELECT sequencename AS name FROM pg_sequences
			WHERE schemaname = current_schema() AND last_value IS NOT NULL LOOP
		PERFORM setval(format('%I', t.name), 1, false);
	END LOOP;
END $$`

// Exec executes a statement on a connection of its own.
func Exec(t testing.TB, c *pgx.ConnConfig, statement string) {
	t.Helper()
	ctx := context.Background() // also in a cleanup
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatal(err)
	}
}

// Tests are the tests of a package, whose Run also stops the server that they share.
type Tests struct {
	M        *testing.M
	Settings []string // of the server
}

// Run runs the tests.
func (t Tests) Run() int { return Main(t.M, t.Settings...) }
