package history_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"nanobot/channels/web/history"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// member is a history that others share, with the events that it publishes.
type member struct {
	*history.History
	events chan history.Event
}

func openMember(t *testing.T, dir string, c *pgx.ConnConfig) member {
	t.Helper()
	m := member{events: make(chan history.Event, 10_000)}
	m.History = openHistory(t, dir, history.Options{Server: c, OnEvent: func(e history.Event) { m.events <- e }})
	return m
}

// listen has a member listen until the end of the test.
func (m member) listen(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	listening.Go(func() { m.Listen(ctx) })
	t.Cleanup(func() { cancel(); listening.Wait() })
}

func TestEventsOfAllMembersArePublishedInOrderByEach(t *testing.T) {
	c, dir := postgrestest.Schema(t), t.TempDir()
	members := []member{openMember(t, dir, c), openMember(t, dir, c), openMember(t, dir, c)}
	members[2].listen(t) // it writes nothing
	const each = 100
	var all sync.WaitGroup
	for i, m := range members[:2] {
		m.listen(t)
		for w := range 4 {
			all.Go(func() {
				for n := range each {
					if _, _, err := m.Append(context.Background(), newMessage("c", fmt.Sprint(i, w, n))); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	for i, m := range members {
		seen, last := map[string]bool{}, int64(0)
		for len(seen) < 8*each {
			e := <-m.events
			if e.Seq <= last {
				t.Fatalf("member %d publishes %d after %d", i, e.Seq, last)
			}
			last, seen[e.ID] = e.Seq, true
		}
	}
}

// TestAReaderDoesNotMissANumberThatIsCommittedLater has a member stop between its statements: the
// next member must not get a number before the first has committed.
func TestAReaderDoesNotMissANumberThatIsCommittedLater(t *testing.T) {
	c, dir := postgrestest.Schema(t), t.TempDir()
	slow, quick := openMember(t, dir, c), openMember(t, dir, c)
	mustAppend(t, slow.History, newMessage("slow", "1"))
	ctx := t.Context()
	conn := musttest.Get(pgx.ConnectConfig(ctx, c))(t)
	defer conn.Close(ctx)
	tx := musttest.Get(conn.Begin(ctx))(t)
	musttest.Get(tx.Exec(ctx, "SELECT FROM web_chats WHERE id = 'slow' FOR UPDATE"))(t)
	appended := make(chan history.Event, 2)
	var all sync.WaitGroup
	all.Go(func() { appended <- mustAppend(t, slow.History, newMessage("slow", "2")) })
	awaitBlocked(t, conn, 1)
	all.Go(func() { appended <- mustAppend(t, quick.History, newMessage("quick", "3")) })
	awaitBlocked(t, conn, 2)
	musttest.Do(t, tx.Commit(ctx))
	all.Wait()
	if first, second := <-appended, <-appended; min(first.Seq, second.Seq) != 2 || max(first.Seq, second.Seq) != 3 {
		t.Errorf("the numbers are %d and %d", first.Seq, second.Seq)
	}
	wanttest.EqualSlices(t, "there are", eventIDs(t, quick.History), []string{"1", "2", "3"})
}

// awaitBlocked waits until a number of sessions wait for locks.
func awaitBlocked(t *testing.T, conn *pgx.Conn, want int) {
	t.Helper()
	for blocked := 0; blocked < want; {
		musttest.Do(t, conn.QueryRow(t.Context(), "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted").Scan(&blocked))
	}
}

func TestAnEventIsPublishedAfterEarlierOnesOfOtherMembers(t *testing.T) {
	c, dir := postgrestest.Schema(t), t.TempDir()
	one, two := openMember(t, dir, c), openMember(t, dir, c)
	mustAppend(t, one.History, newMessage("c", "1"))
	mustAppend(t, two.History, newMessage("c", "2"))
	musttest.Do(t, one.Refresh(t.Context()))
	for name, m := range map[string]member{"one": one, "two": two} {
		wanttest.Equal(t, name+" publishes", fmt.Sprint((<-m.events).ID, (<-m.events).ID), "12")
	}
	if late := openMember(t, filepath.Join(dir, "late"), c); late.LastSeq() != 2 {
		t.Errorf("the last number is %d", late.LastSeq())
	}
}

func TestAListenerThatLosesItsConnectionGetsLaterEvents(t *testing.T) {
	c, dir := postgrestest.Schema(t), t.TempDir()
	quick := *c
	one, two := openMember(t, dir, &quick), openMember(t, dir, c)
	quick.ConnectTimeout /= 600 // also the pause before the next attempt
	one.listen(t)
	mustAppend(t, two.History, newMessage("c", "1"))
	<-one.events
	postgrestest.Exec(t, c, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
	mustAppend(t, two.History, newMessage("c", "2"))
	wanttest.Equal(t, "published is", (<-one.events).ID, "2")
}

func TestTextsThatPostgreSQLCannotStoreAreStored(t *testing.T) {
	h := openMember(t, t.TempDir(), postgrestest.Schema(t))
	d := newMessage("c", "1")
	d.Text, d.Media = "a\x00b", []history.Media{{ID: "m", Name: "\xff\x00"}}
	mustAppend(t, h.History, d)
	wanttest.Equal(t, "the text is", (<-h.events).Text, "a\x00b")
	if _, _, err := h.FindMedia(t.Context(), operator, "\x00"); err == nil || !strings.Contains(err.Error(), "not exist") {
		t.Errorf("no file: %v", err)
	}
}

func TestAMemberThatStopsInATransactionBlocksTheOthersOnlyUntilItsSessionEnds(t *testing.T) {
	c, proxy, dir := postgrestest.Schema(t), postgrestest.NewProxy(t), t.TempDir()
	through := musttest.Get(pgx.ParseConfig(proxy.URL()))(t)
	through.ConnectTimeout, through.RuntimeParams = c.ConnectTimeout, maps.Clone(c.RuntimeParams)
	stops, other := openMember(t, dir, through), openMember(t, dir, c)
	stopped := make(chan struct{})
	proxy.Decide(func(request []byte) postgrestest.Fate {
		if !bytes.Contains(request, []byte("last chat")) {
			return postgrestest.Pass
		}
		close(stopped) // it has the lock
		return postgrestest.Silent
	})
	ended := make(chan error)
	go func() {
		_, _, err := stops.Append(context.Background(), newMessage("last chat", "1"))
		ended <- err
	}()
	<-stopped
	// As idle_in_transaction_session_timeout does after a while.
	postgrestest.Exec(t, c, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'")
	mustAppend(t, other.History, newMessage("c", "2"))
	proxy.Deliver()
	if err := <-ended; err == nil {
		t.Error("its change is not refused")
	}
	proxy.Decide(func([]byte) postgrestest.Fate { return postgrestest.Pass })
	mustAppend(t, stops.History, newMessage("last chat", "3"))
	wanttest.EqualSlices(t, "there are", eventIDs(t, other.History), []string{"2", "3"})
}

func TestFewChangesShareATransactionOfAServer(t *testing.T) {
	c := postgrestest.Schema(t)
	m := openMember(t, t.TempDir(), c)
	ctx := t.Context()
	conn := musttest.Get(pgx.ConnectConfig(ctx, c))(t)
	defer conn.Close(ctx)
	tx := musttest.Get(conn.Begin(ctx))(t)
	musttest.Get(tx.Exec(ctx, "LOCK TABLE web_chats"))(t)
	var all sync.WaitGroup
	for n := range 100 {
		all.Go(func() { mustAppend(t, m.History, newMessage("c", fmt.Sprint(n))) })
	}
	awaitBlocked(t, conn, 1)
	musttest.Do(t, tx.Commit(ctx))
	all.Wait()
	var most int
	row := conn.QueryRow(ctx, "SELECT count(*) FROM web_events GROUP BY xmin ORDER BY 1 DESC LIMIT 1")
	musttest.Do(t, row.Scan(&most))
	if most > 16 {
		t.Errorf("%d share one", most)
	}
}

// countedContext counts the functions that wait for its end: those of the contexts below it.
type countedContext struct {
	context.Context //nolint:containedctx // it is a context
	waiting, most   atomic.Int32
}

func (c *countedContext) Value(any) any { return nil }

func (c *countedContext) AfterFunc(f func()) (stop func() bool) {
	c.most.Store(max(c.most.Load(), c.waiting.Add(1)))
	end := context.AfterFunc(c.Context, f)
	return func() bool {
		c.waiting.Add(-1)
		return end()
	}
}

func TestNoTimerIsLeftOfAReadThatHasEnded(t *testing.T) {
	h := openMember(t, t.TempDir(), postgrestest.Schema(t))
	mustAppend(t, h.History, newMessage("c", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	counted := &countedContext{Context: ctx}
	for range 3 {
		_ = musttest.Get(h.Events(counted, 0, 9, operator, 9))(t)
	}
	wanttest.Equal(t, "there were timers", counted.most.Load() > 0, true)
	wanttest.Equal(t, "there are", counted.waiting.Load(), 0)
}

func TestANewerSchemaIsRefused(t *testing.T) {
	c, dir := postgrestest.Schema(t), t.TempDir()
	musttest.Do(t, openMember(t, dir, c).Close())
	postgrestest.Exec(t, c, "COMMENT ON TABLE web_events IS '99'")
	if _, err := history.Open(dir, history.Options{Server: c}); err == nil || !strings.Contains(err.Error(), "schema 99") {
		t.Errorf("got %v", err)
	}
}
