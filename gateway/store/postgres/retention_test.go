package postgres_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/gateway/store/postgres/bottest"
	"nanobot/gateway/store/storetest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

// TestTwoYearsOfUseStayBounded has people come, write for a while and never again. After the
// longest retention no table grows any more. There are 1,000 people with NANOBOT_LONG=1.
func TestTwoYearsOfUseStayBounded(t *testing.T) {
	t.Parallel()
	const day, step, steps = 24 * time.Hour, 28 * 24 * time.Hour, 26
	people := killtest.Rounds(t, steps, 1000)
	var clock atomic.Int64
	clock.Store(time.Now().UnixMicro())
	now := func() time.Time { return time.UnixMicro(clock.Load()) }
	bot, dir := bottest.Lend(t), t.TempDir()
	s := musttest.Get(postgres.Open(ctx, postgres.Options{
		URL: postgrestest.URL(t), Bot: bot, Name: "one", TTL: ttl, Dir: dir, Spool: filepath.Join(dir, "spool"), Now: now,
	}))(t)
	defer func() { musttest.Do(t, s.Close()) }()
	use := storetest.LongUse{Store: s, Dir: dir, Now: now}
	keep := store.Retention{Age: 30 * day, Count: 100_000, Usage: 400 * day, Memories: 400 * day}
	measure := func() map[string]int64 {
		sizes := map[string]int64{}
		for _, table := range storetest.UsedTables {
			sizes[table] = int64(bottest.Count(t, bot, table))
		}
		return sizes
	}
	var before map[string]int64
	for n := range steps {
		clock.Add(step.Microseconds())
		musttest.Do(t, s.Prune(ctx, keep))
		musttest.Do(t, s.PruneCodes(ctx, time.Hour))
		for person := max(n-2, 0) * people / steps; person < (n+1)*people/steps; person++ {
			musttest.Get(use.Turn(ctx, person, n))(t)
		}
		for i := range 3 {
			musttest.Do(t, use.Rest(ctx, fmt.Sprintf("%d-%d", n, i)))
		}
		if n == int(520*day/step) {
			before = measure()
		}
	}
	storetest.CheckBounded(t, before, measure())
	for table, rows := range before {
		if rows == 0 {
			t.Errorf("the use writes nothing into %s", table)
		}
	}
}
