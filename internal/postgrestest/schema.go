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

// lendable are the schemas that were lent and are not now.
var lendable struct {
	mu  sync.Mutex
	all []*pgx.ConnConfig
}

// Lend returns how to connect to a schema without rows, which earlier tests may have lent: then it
// has the tables that they have created.
func Lend(t testing.TB) *pgx.ConnConfig {
	t.Helper()
	lendable.mu.Lock()
	var c *pgx.ConnConfig
	if last := len(lendable.all) - 1; last >= 0 {
		c, lendable.all = lendable.all[last], lendable.all[:last]
	}
	lendable.mu.Unlock()
	if c == nil {
		c = Schema(t)
	}
	t.Cleanup(func() {
		Exec(t, c, empty)
		lendable.mu.Lock()
		defer lendable.mu.Unlock()
		lendable.all = append(lendable.all, c)
	})
	return c.Copy()
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
