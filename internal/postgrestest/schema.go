package postgrestest

import (
	"context"
	"crypto/rand"
	"strings"
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
