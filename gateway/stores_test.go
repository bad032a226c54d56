package gateway_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/gateway/store/postgres/bottest"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

// storeVariable names the engine of the tests: with "postgres", the state is in PostgreSQL.
const storeVariable = "NANOBOT_TEST_STORE"

// sharedState says where the state of a folder is, in a file of it, which daemons in processes of
// their own read. Without the file, the state is SQLite in the folder.
type sharedState struct{ URL, Bot string }

const sharedFile = "shared.json"

// prepareState creates a state for a folder, as a daemon leaves it that has received nothing.
func prepareState(t testing.TB, dir string) {
	t.Helper()
	if isShared() {
		writeShared(t, dir, bottest.Lend(t))
	} else {
		sqlitetest.Prepare(t, dir)
	}
}

// chooseState chooses the engine for a folder, whose first daemon creates the state.
func chooseState(t testing.TB, dir string) {
	t.Helper()
	if isShared() {
		writeShared(t, dir, strings.ToLower(rand.Text()))
	}
}

func isShared() bool { return os.Getenv(storeVariable) == "postgres" }

func writeShared(t testing.TB, dir, bot string) {
	t.Helper()
	at := musttest.Get(json.Marshal(sharedState{URL: postgrestest.URL(t), Bot: bot}))(t)
	musttest.Do(t, os.MkdirAll(dir, 0o700))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, sharedFile), at, 0o600))
}

// onlySQLite skips a test that is about SQLite if the tests use another engine.
func onlySQLite(t testing.TB, why string) {
	t.Helper()
	if isShared() {
		t.Skip(why)
	}
}

// readShared returns where the state of a folder is; false: in the folder.
func readShared(dir string) (at sharedState, found bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, sharedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return at, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &at)
	}
	return at, err == nil, err
}

// openState opens the state of a folder as a daemon does.
func openState(ctx context.Context, dir string) (store.Store, error) {
	return openStateAt(ctx, dir, nil)
}

// openStateAt opens the state of a folder with a clock; nil: the engine's.
func openStateAt(ctx context.Context, dir string, now func() time.Time) (store.Store, error) {
	at, shared, err := readShared(dir)
	if err != nil {
		return nil, err
	}
	if !shared {
		return asStore(sqlite.Open(ctx, dir, sqlite.Options{Now: now}))
	}
	return asStore(postgres.Open(ctx, memberOptions(at, dir, postgres.Options{Name: "one", Now: now})))
}

// openBeside opens the state of a folder beside a daemon, to look at it.
func openBeside(t testing.TB, dir string) store.Store {
	t.Helper()
	at, shared, err := readShared(dir)
	musttest.Do(t, err)
	if !shared {
		return musttest.Get(sqlite.Open(t.Context(), dir, sqlite.Options{Shared: true}))(t)
	}
	return musttest.Get(postgres.Open(t.Context(), memberOptions(at, t.TempDir(), postgres.Options{Command: true})))(t)
}

// openCommand opens the state as a command of the operator does.
func (fx *fixture) openCommand() store.Store {
	fx.t.Helper()
	s := openBeside(fx.t, filepath.Join(fx.dir, ".nanobot"))
	fx.t.Cleanup(func() { musttest.Do(fx.t, s.Close()) })
	return s
}

// memberOptions fills in what members of tests have in common. The lease is long, because a busy
// machine is not a failure.
func memberOptions(at sharedState, dir string, o postgres.Options) postgres.Options {
	o.URL, o.Bot, o.TTL, o.Dir, o.Spool = at.URL, at.Bot, time.Minute, dir, filepath.Join(dir, "spool")
	return o
}

// asStore returns nil and no typed nil with an error.
func asStore[S store.Store](s S, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// countSending counts the deliveries that are marked as sending. A daemon may be using the state.
func countSending(t testing.TB, dir string) int {
	t.Helper()
	at, shared, err := readShared(dir)
	musttest.Do(t, err)
	if !shared {
		return sqlitetest.CountSending(t, dir)
	}
	return bottest.Count(t, at.Bot, "outbox WHERE state = 'sending'")
}

// countBoards counts the boards that are recorded. A daemon may be using the state.
func countBoards(t testing.TB, dir string) int {
	t.Helper()
	at, shared, err := readShared(dir)
	musttest.Do(t, err)
	if !shared {
		return sqlitetest.CountBoards(t, dir)
	}
	return bottest.Count(t, at.Bot, "transient WHERE board > 0")
}
