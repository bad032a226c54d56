package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// countFunction counts its calls in the memories of a chat, and answers with the count.
const countFunction = `CREATE FUNCTION count_call(c operation, a jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	INSERT INTO memory (chat, key, value) VALUES (a->>'chat', 'count', '1')
		ON CONFLICT (chat, key) DO UPDATE SET value = memory.value::bigint + 1 RETURNING value INTO n;
	RETURN n::text;
END $$`

// openCounting opens a state through a proxy, with the change count_call.
func openCounting(t *testing.T) (*postgres.Store, *postgrestest.Proxy) {
	t.Helper()
	proxy := postgrestest.NewProxy(t)
	s := openMember(t, postgres.Options{URL: proxy.URL()}) // many tries may fail
	execSQL(t, countFunction)
	return s, proxy
}

// isChange reports whether a request may be a change.
func isChange(request []byte) bool { return bytes.Contains(request, []byte("count_call")) }

// readCount returns how many calls were counted.
func readCount(t *testing.T, chat string) (n int64) {
	t.Helper()
	musttest.Do(t, connect(t).QueryRow(ctx,
		"SELECT coalesce(sum(value::bigint), 0)::bigint FROM memory WHERE chat = $1", chat).Scan(&n))
	return n
}

func TestAChangeIsMadeOnceWhereverItsConnectionIsCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		renumber bool
		calls    int // of each writer
	}{{"with its number", false, killtest.Pick(17, 50)}, {"control, with a new number at each try", true, 8}} {
		t.Run(c.name, func(t *testing.T) {
			s, proxy := openCounting(t)
			var mu sync.Mutex
			random, cuts := rand.New(rand.NewPCG(1, 2)), map[postgrestest.Fate]int{} //nolint:gosec // the same cuts each time
			proxy.Decide(func(request []byte) postgrestest.Fate {
				mu.Lock()
				defer mu.Unlock()
				if !isChange(request) {
					return postgrestest.Pass
				}
				fate := postgrestest.Fate(random.IntN(6)) // two thirds of them pass
				if fate > postgrestest.CutBehind {
					return postgrestest.Pass
				}
				cuts[fate]++
				return fate
			})
			const writers = 6
			answers := make([][]int64, writers)
			var group errgroup.Group
			for w := range writers {
				group.Go(func() error {
					for range c.calls {
						var n int64
						if err := s.Call(ctx, "count_call", fmt.Sprint("net:", w%2), c.renumber, &n); err != nil {
							return err
						}
						answers[w] = append(answers[w], n)
					}
					return nil
				})
			}
			musttest.Do(t, group.Wait())
			if min(cuts[postgrestest.CutBefore], cuts[postgrestest.CutBehind]) < c.calls/2 {
				t.Errorf("too few were cut: %v", cuts)
			}
			half := int64(writers * c.calls / 2)
			once := readCount(t, "net:0") == half && readCount(t, "net:1") == half
			for chat := range 2 {
				all := slices.Concat(answers[chat], answers[chat+2], answers[chat+4])
				slices.Sort(all)
				for i, n := range all {
					once = once && n == int64(i+1)
				}
			}
			wanttest.Equal(t, "each change was made once, and has its own answer", once, !c.renumber)
		})
	}
}

func TestAChangeWhoseFirstTryStillWaitsForItsChatIsMadeOnce(t *testing.T) {
	s, proxy := openCounting(t)
	var n int64
	musttest.Do(t, s.Call(ctx, "count_call", "net:a", false, &n))
	proxy.Deliver() // late requests arrive at once, but their answers get lost
	tries := make(chan struct{}, 100)
	proxy.Decide(func(request []byte) postgrestest.Fate {
		if !isChange(request) {
			return postgrestest.Pass
		}
		tries <- struct{}{}
		if len(tries) <= 2 {
			return postgrestest.Late
		}
		return postgrestest.Pass
	})
	blocker := musttest.Get(connect(t).Begin(ctx))(t)
	_ = musttest.Get(blocker.Exec(ctx, "SELECT lock_chats('{net:a}')"))(t)
	var group errgroup.Group
	group.Go(func() error { return s.Call(ctx, "count_call", "net:a", false, &n) })
	watch := connect(t)
	waitUntil(t, "three tries wait for the chat", func() bool {
		var waiting int
		musttest.Do(t, watch.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND application_name = $1`, "nanobot "+s.Member()).Scan(&waiting))
		return waiting == 3
	})
	musttest.Do(t, blocker.Rollback(ctx))
	musttest.Do(t, group.Wait())
	wanttest.Equal(t, "the answer", n, 2)
	proxy.Deliver()
	wanttest.Equal(t, "the calls that were counted", readCount(t, "net:a"), 2)
}

func TestARequestThatArrivesAfterItsSlotWasUsedAgainChangesNothing(t *testing.T) {
	s, proxy := openCounting(t)
	proxy.Decide(func(request []byte) postgrestest.Fate {
		if isChange(request) {
			return postgrestest.Late
		}
		return postgrestest.Pass
	})
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	var n int64
	if err := s.Call(short, "count_call", "net:a", false, &n); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	proxy.Decide(func([]byte) postgrestest.Fate { return postgrestest.Pass })
	for range postgres.MaxChanges {
		musttest.Do(t, s.Call(ctx, "count_call", "net:b", false, &n))
	}
	proxy.Deliver()
	wanttest.Equal(t, "the late calls that were counted", readCount(t, "net:a"), 0)
	wanttest.Equal(t, "the others", readCount(t, "net:b"), postgres.MaxChanges)
}

func TestAMemberThatIsGoneChangesNothing(t *testing.T) {
	s, _ := openCounting(t)
	execSQL(t, fmt.Sprintf("SELECT mark_gone('%s', NULL)", s.Member()))
	var n int64
	if err := s.Call(ctx, "count_call", "net:a", false, &n); !errors.Is(err, store.ErrFenced) {
		t.Errorf("got %v, want ErrFenced", err)
	}
	wanttest.Equal(t, "the calls that were counted", readCount(t, "net:a"), 0)
}

// connect returns a connection of the test's own to the state of its bot.
func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	return connectTo(t, postgrestest.URL(t))
}

func connectTo(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c := musttest.Get(pgx.Connect(ctx, fmt.Sprintf("%[1]s&search_path=%[2]s,%[3]s", url, postgres.FunctionsOf(schemaOf(t)), schemaOf(t))))(t)
	t.Cleanup(func() { _ = c.Close(ctx) })
	return c
}

func execSQL(t *testing.T, sql string) {
	t.Helper()
	_ = musttest.Get(connect(t).Exec(ctx, sql))(t)
}
