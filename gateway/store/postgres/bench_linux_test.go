package postgres_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

// engines are both engines with the settings that they have for users, on the same disk. The server
// is a private one with its default fsync and synchronous_commit, connected to by TCP on loopback.
type engines struct {
	names []string
	by    map[string]store.Store
	plain *pgx.Conn // another connection to the server
	pid   int       // of the server
}

func openEngines(b *testing.B) *engines {
	b.Helper()
	server, url := postgrestest.StartTCP(b)
	dir := b.TempDir()
	e := &engines{names: []string{"sqlite", "postgres"}, pid: server.PID(), by: map[string]store.Store{
		"sqlite": musttest.Get(sqlite.Open(ctx, filepath.Join(dir, "sqlite"), sqlite.Options{}))(b),
		"postgres": musttest.Get(postgres.Open(ctx, postgres.Options{
			URL: url, Bot: "bench", Name: "one", TTL: ttl, Dir: filepath.Join(dir, "one"), Spool: filepath.Join(dir, "spool"),
		}))(b),
	}}
	for _, s := range e.by {
		b.Cleanup(func() { musttest.Do(b, s.Close()) })
	}
	e.plain = musttest.Get(pgx.Connect(ctx, url))(b)
	b.Cleanup(func() { _ = e.plain.Close(ctx) })
	for name, want := range map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"} {
		var is string
		musttest.Do(b, e.plain.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&is))
		if is != want {
			b.Fatalf("%s is %s", name, is)
		}
	}
	_ = musttest.Get(e.plain.Exec(ctx, "CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY, text text)"))(b)
	return e
}

// insert is one durable INSERT of a row as long as an answer.
func (e *engines) insert() error {
	_, err := e.plain.Exec(ctx, "INSERT INTO plain (text) VALUES ($1)", "I am fine.")
	return err
}

// changesOfATurn are the changes of a simple turn, in order.
var changesOfATurn = []string{"receive", "enqueue", "settle", "finish"}

// runTurn makes the changes of a simple turn of a chat and has each one measured.
func runTurn(s store.Store, chat channels.Chat, n int, measure func(change string, began time.Time)) error {
	in := channels.Incoming{Chat: chat, ID: strconv.Itoa(n), Text: "How are you?", User: channels.User{ID: "7", Name: "Ann"}}
	began := time.Now()
	received, err := s.Receive(ctx, store.ReceiveRequest{In: in, Claim: true, Cursor: in.ID})
	if err != nil || received.Disposition != store.Claimed {
		return fmt.Errorf("receive %s: disposition %v: %w", in.ID, received.Disposition, err)
	}
	measure("receive", began)
	began = time.Now()
	answer, sending, err := s.Enqueue(ctx, store.Outbound{
		Inbound: received.Inbound.ID, Sequence: 1, Claim: true, Entry: &store.Entry{Role: "agent", Text: "I am fine."},
		Parts: []channels.Outgoing{{Chat: chat, Text: "I am fine."}},
	})
	if err != nil || !sending {
		return fmt.Errorf("enqueue: sending %v: %w", sending, err)
	}
	measure("enqueue", began)
	began = time.Now()
	if _, err = s.Settle(ctx, answer.ID, store.Settlement{State: store.Sent, Receipt: "1"}); err != nil {
		return err
	}
	measure("settle", began)
	began = time.Now()
	if _, err = s.Finish(ctx, received.Inbound.ID, store.Done, store.Outcome{Status: "done"}); err != nil {
		return err
	}
	measure("finish", began)
	return nil
}

// BenchmarkAgainstSQLite measures the changes of a simple turn on both engines and one durable
// INSERT in the same server, alternating. The ratios are those of the medians. Budgets: an enqueue
// takes at most 2.5 times as long as in SQLite, and 3 times as long as the INSERT.
func BenchmarkAgainstSQLite(b *testing.B) {
	e := openEngines(b)
	took := map[string][]time.Duration{}
	n := 0
	round := func() {
		n++
		chat := channels.Chat{Channel: "net", ID: strconv.Itoa(n % 20)}
		for i := range e.names {
			name := e.names[(i+n)%len(e.names)]
			musttest.Do(b, runTurn(e.by[name], chat, n, func(change string, began time.Time) {
				took[name+" "+change] = append(took[name+" "+change], time.Since(began))
			}))
			began := time.Now()
			musttest.Do(b, e.insert())
			took["insert"] = append(took["insert"], time.Since(began))
		}
	}
	for range 50 { // prepares statements and plans
		round()
	}
	clear(took)
	for b.Loop() {
		round()
	}
	median := func(what string) float64 {
		slices.SortFunc(took[what], cmp.Compare)
		return float64(took[what][len(took[what])/2].Microseconds())
	}
	b.ReportMetric(median("insert"), "insert-µs")
	for _, change := range changesOfATurn {
		b.ReportMetric(median("postgres "+change), change+"-µs")
		b.ReportMetric(median("postgres "+change)/median("sqlite "+change), change+"/sqlite")
		b.ReportMetric(median("postgres "+change)/median("insert"), change+"/insert")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkServerTimeOfATurn reports the processor time of all processes of the server, for the
// four changes of a turn by one writer, and for one durable INSERT. Budget: 2 ms a turn.
func BenchmarkServerTimeOfATurn(b *testing.B) {
	e := openEngines(b)
	s, n := e.by["postgres"], 0
	turns := func(most int) {
		for range most {
			n++
			musttest.Do(b, runTurn(s, channels.Chat{Channel: "net", ID: strconv.Itoa(n % 20)}, n, func(string, time.Time) {}))
		}
	}
	turns(200) // prepares statements and plans on each connection
	var spent, spentOnInserts time.Duration
	const each = 50
	rounds := 0
	for ; b.Loop(); rounds++ {
		before := e.serverTime(b)
		turns(each)
		between := e.serverTime(b)
		for range each {
			musttest.Do(b, e.insert())
		}
		spent += between - before
		spentOnInserts += e.serverTime(b) - between
	}
	b.ReportMetric(float64(spent.Microseconds())/float64(rounds*each), "server-µs/turn")
	b.ReportMetric(float64(spentOnInserts.Microseconds())/float64(rounds*each), "server-µs/insert")
	b.ReportMetric(0, "ns/op")
}

// serverTime returns the processor time that the processes of the server have used. The kernel
// counts it in nanoseconds.
func (e *engines) serverTime(b *testing.B) (sum time.Duration) {
	b.Helper()
	all := musttest.Get(filepath.Glob("/proc/[0-9]*/stat"))(b)
	for _, path := range all {
		stat, _ := os.ReadFile(path) // a process may have ended
		_, fields, _ := strings.Cut(string(stat), ") ")
		if parts := strings.Fields(fields); len(parts) < 2 || parts[1] != strconv.Itoa(e.pid) {
			continue
		}
		spent, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "schedstat"))
		var ns int64
		_, _ = fmt.Sscan(string(spent), &ns)
		sum += time.Duration(ns)
	}
	return sum
}

// BenchmarkManyWriters reports how many turns a second 32 writers make on both engines, each in
// chats of its own, alternating, and the load of the machine. It is no budget.
func BenchmarkManyWriters(b *testing.B) {
	e := openEngines(b)
	const writers, each = 32, 10
	rates := map[string][]float64{}
	n := 0
	for b.Loop() {
		for _, name := range e.names {
			began := time.Now()
			var group errgroup.Group
			for w := range writers {
				group.Go(func() error {
					for i := range each {
						chat := channels.Chat{Channel: "net", ID: strconv.Itoa(w)}
						if err := runTurn(e.by[name], chat, n+i, func(string, time.Time) {}); err != nil {
							return err
						}
					}
					return nil
				})
			}
			musttest.Do(b, group.Wait())
			rates[name] = append(rates[name], writers*each/time.Since(began).Seconds())
		}
		n += each
	}
	for _, name := range e.names {
		slices.Sort(rates[name])
		b.ReportMetric(rates[name][len(rates[name])/2], name+"-turns/s")
	}
	var load float64
	_, _ = fmt.Sscan(string(musttest.Get(os.ReadFile("/proc/loadavg"))(b)), &load)
	b.ReportMetric(load, "load")
	b.ReportMetric(0, "ns/op")
}
