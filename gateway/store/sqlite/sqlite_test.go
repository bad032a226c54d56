package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/gateway/store/storetest"
)

var ctx = context.Background()

func TestMain(m *testing.M) {
	if dir := os.Getenv("NANOBOT_TEST_WRITER"); dir != "" {
		os.Exit(writeUntilKilled(dir))
	}
	goleak.VerifyTestMain(m)
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, dir string, now func() time.Time) store.Store {
		if _, err := os.Stat(filepath.Join(dir, sqlite.Database)); err != nil { // the first time
			sqlitetest.Prepare(t, dir)
		}
		return open(t, dir, sqlite.Options{Now: now})
	})
}

// open opens a store that the caller closes.
func open(t testing.TB, dir string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(ctx, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
