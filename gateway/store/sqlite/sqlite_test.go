package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/gateway/store/storetest"
	"nanobot/internal/musttest"
)

var ctx = context.Background()

func TestMain(m *testing.M) {
	if dir := os.Getenv("NANOBOT_TEST_WRITER"); dir != "" {
		os.Exit(writeUntilKilled(dir))
	}
	if dir := os.Getenv("NANOBOT_TEST_MIGRATE"); dir != "" {
		os.Exit(migrateUntilKilled(dir, os.Getenv("NANOBOT_TEST_KILL_AT")))
	}
	goleak.VerifyTestMain(m)
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
		if _, err := os.Stat(filepath.Join(o.Dir, sqlite.Database)); err != nil { // the first time
			sqlitetest.Prepare(t, o.Dir)
		}
		return openStore(t, o.Dir, sqlite.Options{Now: o.Now, Shared: o.Beside})
	})
}

// openStore opens a store. The caller closes it.
func openStore(t testing.TB, dir string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s := musttest.Get(sqlite.Open(ctx, dir, o))(t)
	return s
}
