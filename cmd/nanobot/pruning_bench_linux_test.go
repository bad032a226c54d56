package main

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest/fast"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
)

// fillOld gives a state so many old messages that are answered and due for pruning.
func fillOld(b testing.TB, dir string, messages int) {
	b.Helper()
	db := openState(b, dir)
	defer func() { musttest.Do(b, db.Close()) }()
	old := time.Now().AddDate(0, 0, -40).UnixMicro()
	for _, script := range []string{
		`INSERT INTO inbox (id, chat, state, attempt, received, started, ended, status, incoming)
			SELECT n, 'telegram:' || (5000 + n % 1000), 'done', 1, ?2 + n, ?2 + n, ?2 + n, 'done',
			'{"chat":{"channel":"telegram","id":"' || (5000 + n % 1000) || '"},"id":"' || n || '","user":{"id":"7","name":"Ada"},"text":"hello"}' FROM n`,
		`INSERT INTO outbox (id, inbound, sequence, part, digest, chat, state, queued, settled, outgoing)
			SELECT n, n, 1, 0, x'00', 'telegram:' || (5000 + n % 1000), 'sent', ?2 + n, ?2 + n,
			'{"chat":{"channel":"telegram","id":"' || (5000 + n % 1000) || '"},"kind":"message","text":"hi"}' FROM n`,
		`INSERT INTO transcript (inbound, n, text, media, at) SELECT n, 1, 'hi', '[]', ?2 + n FROM n`,
	} {
		musttest.Get(db.ExecContext(b.Context(),
			"WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1) "+script, messages, old))(b)
	}
}

func openState(b testing.TB, dir string) *sql.DB {
	b.Helper()
	return musttest.Get(sql.Open("sqlite", "file:"+filepath.Join(dir, sqlite.Database)+"?_pragma=busy_timeout(60000)&_pragma=synchronous(OFF)"))(b)
}

// countOld counts the rows of fillOld that are left.
func countOld(b testing.TB, db *sql.DB, messages int) (n int) {
	b.Helper()
	musttest.Do(b, db.QueryRowContext(b.Context(), `SELECT (SELECT count(*) FROM inbox WHERE id <= ?1) +
		(SELECT count(*) FROM outbox WHERE id <= ?1)`, messages).Scan(&n))
	return n
}

// BenchmarkPruning reports how long the daemon takes to prune a million finished messages while 32
// people talk, and what they notice: latencies in the two minutes before the pruning begins, and
// while it runs.
func BenchmarkPruning(b *testing.B) {
	const messages, rest = 1_000_000, 500 * time.Millisecond
	bot := newOutsideBot(b, buildUnlimited(b), telegramSetup{command: trivialAgent}, 0)
	fillOld(b, bot.stateDir(), messages)
	db := openState(b, bot.stateDir())
	defer func() { musttest.Do(b, db.Close()) }()
	left := func() int { return countOld(b, db, messages) }
	bot.start()
	began := time.Now()
	var before, during []time.Duration
	var from time.Time
	for n := left(); n > 0 && time.Since(began) < 30*time.Minute; n = left() {
		if from.IsZero() && n < 2*messages {
			from = time.Now()
		}
		all := bot.ask(fast.Load{Chats: 32, People: 32, Turns: 600, Rest: rest}).Latencies
		if from.IsZero() {
			before = append(before, all...)
		} else {
			during = append(during, all...)
		}
	}
	p := func(all []time.Duration, percent int) string {
		slices.Sort(all)
		return all[len(all)*percent/100].Round(100 * time.Microsecond).String()
	}
	fmt.Printf("pruned in %s, %s after the start; before: p50 %s, p99 %s of %d; meanwhile: p50 %s, p99 %s of %d\n",
		time.Since(from).Round(time.Second), time.Since(began).Round(time.Second),
		p(before, 50), p(before, 99), len(before), p(during, 50), p(during, 99), len(during))
	b.ReportMetric(0, "ns/op")
}
