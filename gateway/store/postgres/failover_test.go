package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/gateway/store/postgres"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

func TestChangesAreMadeOnceAcrossAFailover(t *testing.T) {
	t.Parallel()
	postgrestest.Require(t)
	primary := musttest.Get(postgrestest.Start())(t)
	t.Cleanup(primary.Stop)
	standby := musttest.Get(primary.StartStandby())(t)
	t.Cleanup(standby.Stop)
	first := connectTo(t, primary.URL())
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		_ = musttest.Get(first.Exec(ctx, sql))(t)
	}
	waitUntil(t, "the standby is synchronous", func() (synchronous bool) {
		musttest.Do(t, first.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync')").Scan(&synchronous))
		return synchronous
	})
	s := openMember(t, fillOptions(t, postgres.Options{
		URL: strings.Replace(primary.URL(), "host=", "host="+standby.Dir+",", 1),
	}).WithAttempt(5*time.Second)) // also the longest pause between tries
	_ = musttest.Get(first.Exec(ctx, countFunction))(t)
	const writers, calls = 4, 60
	var answers []int
	var mu sync.Mutex
	half := make(chan struct{})
	var group errgroup.Group
	for range writers {
		group.Go(func() error {
			for range calls {
				var n int
				if err := s.Call(ctx, "count_call", "net:a", false, &n); err != nil {
					return err
				}
				mu.Lock()
				answers = append(answers, n)
				if len(answers) == writers*calls/2 {
					close(half)
				}
				mu.Unlock()
			}
			return nil
		})
	}
	receive(t, "half of the changes are made", half)
	primary.Kill()
	second := connectTo(t, standby.URL())
	_ = musttest.Get(second.Exec(ctx, "SELECT pg_promote()"))(t)
	musttest.Do(t, group.Wait())
	slices.Sort(answers)
	for i, n := range answers {
		if n != i+1 {
			t.Fatalf("the answers are %v", answers)
		}
	}
	var count string
	musttest.Do(t, second.QueryRow(ctx, "SELECT value FROM memory WHERE key = 'count'").Scan(&count))
	wanttest.Equal(t, "the calls that were counted", count, fmt.Sprint(writers*calls))
}
