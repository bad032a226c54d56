package postgres_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/gateway/store/postgres/bottest"
	"nanobot/gateway/store/storetest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

var ctx = context.Background()

// ttl is the lease of members that lose nothing, although the machine stands still for a while.
const ttl = 5 * time.Minute

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m, postgrestest.Fast...)) }

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, openLent())
}

func TestSeveralMembers(t *testing.T) {
	t.Parallel()
	storetest.RunMembers(t, openLent())
}

// openLent opens stores on the server that the tests share. Each folder is lent a bot.
func openLent() storetest.Open {
	var lent sync.Map
	return func(t *testing.T, o storetest.Options) store.Store {
		bot, ok := lent.Load(o.Dir)
		if !ok {
			bot = bottest.Lend(t)
			lent.Store(o.Dir, bot)
		}
		name := cmp.Or(o.Live, "one")
		if o.Beside {
			name = "two"
		}
		s := musttest.Get(postgres.Open(ctx, postgres.Options{
			URL: postgrestest.URL(t), Bot: bot.(string), Name: name, TTL: ttl, Dir: filepath.Join(o.Dir, name),
			Spool: filepath.Join(o.Dir, "spool"), Now: o.Now,
		}))(t)
		if o.Beside {
			return adopter{s}
		}
		return s
	}
}

// adopter is a member whose Adopt considers all other members gone.
type adopter struct{ *postgres.Store }

func (a adopter) Adopt(ctx context.Context) (store.Adopted, error) {
	if err := a.MarkOthersGone(ctx); err != nil {
		return store.Adopted{}, err
	}
	return a.Store.Adopt(ctx)
}

// botOf returns the name of the bot whose state is at a place.
func botOf(test string) string {
	sum := sha256.Sum256([]byte(test))
	return hex.EncodeToString(sum[:8])
}

// bots are the bots of tests.
var bots sync.Map

// schemaOf returns the schema of a test's bot.
func schemaOf(t *testing.T) string {
	t.Helper()
	bot, _ := bots.LoadOrStore(t, botOf(rand.Text()))
	return fmt.Sprint("nanobot_", bot)
}

// openMember opens the state of a test's bot; options that are not set have values for tests. The
// member ends with the test.
func openMember(t *testing.T, o postgres.Options) *postgres.Store {
	t.Helper()
	s := musttest.Get(postgres.Open(ctx, fillOptions(t, o)))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func fillOptions(t *testing.T, o postgres.Options) postgres.Options {
	t.Helper()
	o.URL = cmp.Or(o.URL, postgrestest.URL(t))
	o.Bot, o.Name, o.TTL = cmp.Or(o.Bot, strings.TrimPrefix(schemaOf(t), "nanobot_")), cmp.Or(o.Name, "one"), cmp.Or(o.TTL, ttl)
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Spool = cmp.Or(o.Spool, filepath.Join(o.Dir, "spool"))
	return o
}

// waitTimeout is how long a test waits. Only a failing test waits that long.
const waitTimeout = 5 * time.Minute

// waitUntil waits until a condition is true.
func waitUntil(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen: %s", what)
		}
	}
}

// receive receives from a channel, which may be closed, and fails if that takes too long.
func receive[T any, C ~chan T | ~<-chan T](t *testing.T, what string, from C) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(waitTimeout):
		t.Fatalf("it did not happen: %s", what)
		panic("unreachable")
	}
}
