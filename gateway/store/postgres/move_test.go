package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/gateway/store/storetest"
	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// moveStore copies the state of SQLite in a folder.
func moveStore(o postgres.Options, dir string) ([]postgres.Moved, error) {
	return postgres.Move(ctx, o, []postgres.MoveSource{{Path: filepath.Join(dir, sqlite.Database)}}, func() error {
		if err := os.RemoveAll(o.Spool); err != nil {
			return err
		}
		return os.CopyFS(o.Spool, os.DirFS(filepath.Join(dir, "spool")))
	})
}

// TestAStateThatWasMovedGoesOn runs the contract with states that are closed by one engine and
// opened by the other.
func TestAStateThatWasMovedGoesOn(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	moved := 0
	storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
		old := filepath.Join(o.Dir, "old")
		_, err := os.Stat(old)
		switch {
		case o.Beside:
			t.Skip("SQLite and PostgreSQL cannot be open at the same time")
		case errors.Is(err, os.ErrNotExist): // the first time
			sqlitetest.Prepare(t, old)
			return musttest.Get(sqlite.Open(ctx, old, sqlite.Options{Now: o.Now}))(t)
		}
		n := postgres.Options{
			URL: url, Bot: botOf(o.Dir), Name: "one", TTL: ttl, Dir: filepath.Join(o.Dir, "one"),
			Spool: filepath.Join(o.Dir, "spool"), Now: o.Now,
		}
		if name := t.Name(); strings.Contains(name, "process") || strings.HasSuffix(name, "also_after_a_restart") {
			t.Skip("the old state keeps its secrets, and the process records, which are of another member")
		}
		if _, err := os.Stat(n.Dir); err != nil {
			musttest.Get(moveStore(n, old))(t)
			moved++
		}
		return musttest.Get(postgres.Open(ctx, n))(t)
	})
	t.Logf("%d states were moved", moved)
	if moved < 30 {
		t.Errorf("only %d states were moved", moved)
	}
}

var ann, bob = channels.Chat{Channel: "net", ID: "ann"}, channels.Chat{Channel: "net", ID: "bob"}

func incoming(chat channels.Chat, id string) channels.Incoming {
	return channels.Incoming{Chat: chat, ID: id, Text: id, User: channels.User{ID: "7", Name: "Ann"}}
}

func TestAMoveKeepsIDsAndKeysAndWhatWasUnderWay(t *testing.T) {
	dir, o := t.TempDir(), fillOptions(t, postgres.Options{})
	old := musttest.Get(sqlite.Open(ctx, dir, sqlite.Options{}))(t)
	running := musttest.Get(old.Receive(ctx, store.ReceiveRequest{In: incoming(ann, "1"), Claim: true}))(t).Inbound
	waiting := musttest.Get(old.Receive(ctx, store.ReceiveRequest{In: incoming(ann, "2")}))(t).Inbound
	answer := store.Outbound{
		Inbound: running.ID, Sequence: 1, Parts: []channels.Outgoing{{Chat: ann, Kind: channels.Answer, Text: "nul \x00 and \xff"}},
	}
	sending, claimed, err := old.Enqueue(ctx, store.Outbound{Parts: []channels.Outgoing{{Chat: bob, Text: "half"}}, Claim: true})
	if err != nil || !claimed {
		t.Fatal(claimed, err)
	}
	_, _, err = old.Enqueue(ctx, answer)
	musttest.Do(t, err)
	musttest.Do(t, old.Remember(ctx, ann, "k", "nul \x00 and \xff"))
	unsent := musttest.Get(old.Undelivered(ctx, ann, 9))(t)
	musttest.Do(t, old.Close())

	musttest.Get(moveStore(o, dir))(t)
	s := openMember(t, o)
	wanttest.Equal(t, "the memory is", musttest.Get(s.Recall(ctx, ann, "k"))(t), "nul \uFFFD and \uFFFD")
	adopted := musttest.Get(s.Adopt(ctx))(t)
	wanttest.Equal(t, "adopted are", fmt.Sprint(len(adopted.Inbounds), len(adopted.Deliveries)), "1 1")
	wanttest.Equal(t, "the running message is", adopted.Inbounds[0].ID, running.ID)
	wanttest.Equal(t, "the key of what was being sent is", adopted.Deliveries[0].Key(), sending.Key())
	left := musttest.Get(s.Undelivered(ctx, ann, 9))(t)
	if len(left) != 1 || len(unsent) != 1 || left[0].Key() != unsent[0].Key() {
		t.Errorf("undelivered are %v, they were %v", left, unsent)
	}
	// The same answer of the next attempt is not stored again.
	musttest.Do(t, s.Requeue(ctx, running.ID, true))
	if again := musttest.Get(s.Claim(ctx, store.ClaimRequest{Limit: 9}))(t); len(again) != 1 || again[0].ID != running.ID {
		t.Fatalf("claimed are %v", again)
	}
	_, _, err = s.Enqueue(ctx, answer)
	musttest.Do(t, err)
	wanttest.Equal(t, "undelivered are", len(musttest.Get(s.Undelivered(ctx, ann, 9))(t)), 1)
	musttest.Get(s.Finish(ctx, running.ID, store.Done, store.Outcome{}))(t)
	// What waited runs once, duplicates are known, and new messages have new IDs.
	if next := musttest.Get(s.Claim(ctx, store.ClaimRequest{Limit: 9}))(t); len(next) != 1 || next[0].ID != waiting.ID || !next[0].Received.Equal(waiting.Received) {
		t.Errorf("claimed are %v", next)
	}
	duplicate := musttest.Get(s.Receive(ctx, store.ReceiveRequest{In: incoming(ann, "2")}))(t)
	wanttest.Equal(t, "the second is", duplicate.Disposition, store.Duplicate)
	wanttest.Equal(t, "the next ID is", musttest.Get(s.Receive(ctx, store.ReceiveRequest{In: incoming(bob, "1")}))(t).Inbound.ID, waiting.ID+1)

	if _, err := moveStore(o, dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("moved twice: %v", err)
	}
	musttest.Do(t, musttest.Get(sqlite.Open(ctx, dir, sqlite.Options{}))(t).Close()) // it is as it was
}

func TestAMoveThatFailsLeavesNothing(t *testing.T) {
	dir, o := t.TempDir(), fillOptions(t, postgres.Options{})
	sqlitetest.Prepare(t, dir)
	failed := errors.New("no room")
	_, err := postgres.Move(ctx, o, []postgres.MoveSource{{Path: filepath.Join(dir, sqlite.Database)}}, func() error { return failed })
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	conn := musttest.Get(pgx.Connect(ctx, o.URL))(t)
	defer conn.Close(ctx)
	var n int
	musttest.Do(t, conn.QueryRow(ctx, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE $1 || '%'", schemaOf(t)).Scan(&n))
	wanttest.Equal(t, "schemas are left:", n, 0)
	musttest.Get(postgres.Move(ctx, o, []postgres.MoveSource{{Path: filepath.Join(dir, sqlite.Database)}}, func() error { return nil }))(t)
}

// TestAMoveIsNotBoundByTheTimeOfACall moves with calls that are shorter than the copying.
func TestAMoveIsNotBoundByTheTimeOfACall(t *testing.T) {
	dir, o := t.TempDir(), fillOptions(t, postgres.Options{TTL: 2 * time.Second})
	sqlitetest.Prepare(t, dir)
	slow := "SELECT pg_sleep(0.5)"                        // a statement may take 0.3 s
	pausetest.Try(t, 200*time.Millisecond, func() error { // connecting may take 0.4 s
		_, err := postgres.Move(ctx, o, []postgres.MoveSource{{Path: filepath.Join(dir, sqlite.Database), Create: slow}}, func() error { return nil })
		return err
	})
}
