// Package bottest lends tests the states of bots in PostgreSQL. Creating one takes a fifth of a
// second of processor time, so they are emptied and lent again. It does not know what tests store.
package bottest

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"nanobot/gateway/store/postgres"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

var bots postgrestest.Pool[string]

// Lend returns a bot on the server that the tests of a process share. Its state is empty, and no
// other test uses it before this one has ended.
func Lend(t testing.TB) string {
	t.Helper()
	postgrestest.URL(t)
	return bots.Lend(t, func() string { return create(t) }, func(bot string) { Exec(t, bot, empty) })
}

// create creates the state of a bot, as a daemon leaves it that has received nothing.
func create(t testing.TB) string {
	t.Helper()
	bot, dir := strings.ToLower(rand.Text()[:16]), t.TempDir()
	s := musttest.Get(postgres.Open(context.Background(), postgres.Options{
		URL: postgrestest.URL(t), Bot: bot, Name: "first", TTL: time.Minute, Dir: dir, Spool: filepath.Join(dir, "spool"),
	}))(t)
	musttest.Do(t, s.Close())
	Exec(t, bot, empty)
	return bot
}

// empty empties a state. It waits for the changes of members that were killed; without its rows in
// call, a member cannot change anything later.
const empty = `DO $$
DECLARE
	t record;
BEGIN
	LOCK TABLE call IN ACCESS EXCLUSIVE MODE;
	FOR t IN SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'version' LOOP
		EXECUTE format('DELETE FROM %I', t.name);
	END LOOP;
	INSERT INTO leader DEFAULT VALUES;
	FOR t IN SELECT sequencename AS name FROM pg_sequences
			WHERE schemaname = current_schema() AND last_value IS NOT NULL LOOP
		PERFORM setval(format('%I', t.name), 1, false);
	END LOOP;
END $$`

// Exec executes a statement on the tables of a bot.
func Exec(t testing.TB, bot, statement string) {
	t.Helper()
	postgrestest.Exec(t, config(t, bot), statement)
}

// Count counts rows of a bot, which "FROM" precedes.
func Count(t testing.TB, bot, rows string) (n int) {
	t.Helper()
	ctx := context.Background()
	conn := musttest.Get(pgx.ConnectConfig(ctx, config(t, bot)))(t)
	defer conn.Close(ctx)
	musttest.Do(t, conn.QueryRow(ctx, "SELECT count(*) FROM "+rows).Scan(&n))
	return n
}

func config(t testing.TB, bot string) *pgx.ConnConfig {
	t.Helper()
	c := musttest.Get(pgx.ParseConfig(postgrestest.URL(t)))(t)
	c.ConnectTimeout = time.Minute
	c.RuntimeParams["search_path"] = "nanobot_" + bot
	return c
}
