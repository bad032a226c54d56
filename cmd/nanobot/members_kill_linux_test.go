package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// removeMember kills a member, which does not come back.
func (s *cluster) removeMember(i int) {
	s.ask(time.Second)
	s.members[i].run.Load().kill()
	s.members = slices.Delete(s.members, i, i+1)
}

// TestMembersThatAreDisturbedLoseAndMixNothing disturbs three members while people write on five
// chats: texts, photos and albums. Nothing is lost, reordered, or doubled without a mark; one
// member receives at a time, and agents of one chat never run at the same time. With NANOBOT_LONG=1
// there are 200 disturbances.
func TestMembersThatAreDisturbedLoseAndMixNothing(t *testing.T) {
	t.Parallel()
	times := killtest.Rounds(t, len(memberDisturbances), 200)
	s := newCluster(t)
	s.addStandby()
	for _, m := range s.members {
		s.start(m)
	}
	s.awaitReady()
	s.disturbMembers(times)
	s.removeMember(s.random.IntN(len(s.members)))
	s.awaitAnswers()
	for deadline := time.Now().Add(waitTimeout); len(s.findFaults()) > 0 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond) // what is shown of a turn disappears after its answer
		s.restartEnded()
	}
	for _, fault := range s.findFaults() {
		t.Error(fault)
	}
	s.stopMembers()
	asked := 0
	for _, a := range s.accounts {
		asked += a.asked
	}
	checkProof(t, s.members[0].cfg, asked)
	movers, _ := os.ReadFile(filepath.Join(s.dir, "movers"))
	moves := len(slices.Compact(strings.Fields(string(movers))))
	t.Logf("%d questions, %d processes of the persistent agent on %d processes of members; %v", asked,
		strings.Count(string(movers), "\n"), moves, s.counts)
	if killtest.IsLong() && moves < 2 {
		t.Error("the persistent agent never moved")
	}
}

// awaitAnswers waits until all questions are answered.
func (s *cluster) awaitAnswers() {
	s.t.Helper()
	for deadline := time.Now().Add(waitTimeout); s.countOpen() > 0; time.Sleep(20 * time.Millisecond) {
		s.restartEnded()
		if time.Now().After(deadline) {
			s.t.Fatalf("%d questions were never answered", s.countOpen())
		}
	}
}

// awaitReady waits until all members are ready.
func (s *cluster) awaitReady() {
	s.t.Helper()
	notReady := func(m *member) bool { return !m.run.Load().isReady() }
	for deadline := time.Now().Add(waitTimeout); slices.ContainsFunc(s.members, notReady); time.Sleep(20 * time.Millisecond) {
		s.restartEnded()
		if time.Now().After(deadline) {
			s.t.Fatal("not all members are ready")
		}
	}
}

// stopMembers stops all members when they are ready.
func (s *cluster) stopMembers() {
	s.awaitReady()
	for _, m := range s.members {
		r := m.run.Load()
		_ = r.cmd.Process.Signal(syscall.SIGTERM)
		<-r.done
		if status := r.cmd.ProcessState.ExitCode(); status != 0 {
			s.checkStatus(r)
		}
	}
}

// TestMembersWithoutTheFenceAreFoundOut checks that the score of the test above finds members that
// go on after their lease: the database lets them, and they do not know.
func TestMembersWithoutTheFenceAreFoundOut(t *testing.T) {
	t.Parallel()
	killtest.SkipIfShort(t)
	s := newCluster(t)
	for _, m := range s.members {
		s.start(m)
	}
	s.awaitReady()
	s.removeFence()
	for deadline := time.Now().Add(waitTimeout); ; {
		s.ask(200 * time.Millisecond)
		faults := slices.DeleteFunc(s.findFaults(), func(fault string) bool { return strings.Contains(fault, "nobody said") })
		if len(faults) > 0 {
			t.Logf("without the fence: %q", faults)
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("without the fence, nothing went wrong")
		}
	}
}

// removeFence has the database let members go on whose lease has ended, after an eighth of the time
// that the members know of.
func (s *cluster) removeFence() {
	s.t.Helper()
	c := musttest.Get(pgx.ParseConfig(s.primary.URL()))(s.t)
	ctx := context.Background()
	conn := musttest.Get(pgx.ConnectConfig(ctx, c))(s.t)
	defer conn.Close(ctx)
	var functions string
	musttest.Do(s.t, conn.QueryRow(ctx, "SELECT nspname FROM pg_namespace WHERE nspname ~ '^nanobot[0-9a-f]{6}_b$'").Scan(&functions))
	_ = musttest.Get(conn.Exec(ctx, "SET search_path = "+functions+", nanobot_b"))(s.t)
	for _, change := range []struct{ function, from, to string }{
		{"fail_fenced", "RAISE EXCEPTION USING ERRCODE = 'NB002', MESSAGE = 'fenced';", ""},
		{"mark_gone", "DELETE FROM call WHERE member = gone;", ""},
		{"beat", "now + ttl WHERE id = me AND lease > 0", "now + ttl / 8 WHERE id = me"},
	} {
		var text string
		musttest.Do(s.t, conn.QueryRow(ctx, "SELECT pg_get_functiondef($1::regproc)", change.function).Scan(&text))
		if !strings.Contains(text, change.from) {
			s.t.Fatalf("%s is another function now: %s", change.function, text)
		}
		_ = musttest.Get(conn.Exec(ctx, strings.Replace(text, change.from, change.to, 1)))(s.t)
	}
}
