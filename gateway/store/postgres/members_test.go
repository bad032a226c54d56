package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

var chat = channels.Chat{Channel: "net", ID: "a"}

// after returns a clock that is ahead of that of the database.
func after(d time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(d) }
}

func getBeat(t *testing.T, s *postgres.Store, lead bool) store.Beat {
	t.Helper()
	return musttest.Get(s.Beat(ctx, lead))(t)
}

// checkGone checks that a member is fenced.
func checkGone(t *testing.T, s *postgres.Store) {
	t.Helper()
	_, err := s.Beat(ctx, true)
	if !errors.Is(err, store.ErrFenced) {
		t.Errorf("its beat: got %v, want ErrFenced", err)
	}
	if err := s.Remember(ctx, chat, "k", "v"); !errors.Is(err, store.ErrFenced) {
		t.Errorf("its change: got %v, want ErrFenced", err)
	}
}

func listMembers(t *testing.T, s *postgres.Store) string {
	t.Helper()
	var all []string
	for _, m := range musttest.Get(s.ListMembers(ctx))(t) {
		text := fmt.Sprint(m.Name, " ", m.State, m.Labels)
		if m.Leader {
			text += " leads"
		}
		all = append(all, text)
	}
	return fmt.Sprint(all)
}

func TestAStartInTheSameFolderReplacesItsPredecessorAtOnce(t *testing.T) {
	dir := t.TempDir()
	first := openMember(t, postgres.Options{Dir: dir})
	wanttest.Equal(t, "the first leads", getBeat(t, first, true).Leader, true)
	second := openMember(t, postgres.Options{Dir: dir, Waiting: func(time.Duration) { t.Error("it waits") }})
	checkGone(t, first)
	wanttest.Equal(t, "the second leads", getBeat(t, second, true).Leader, true)
	wanttest.Equal(t, "the members", listMembers(t, second), "[one up[] leads]")
}

func TestAStartFromElsewhereWaitsUntilTheLeaseHasEnded(t *testing.T) {
	began := time.Now()
	at := func(d time.Duration) func() time.Time { return func() time.Time { return began.Add(d) } }
	first := openMember(t, postgres.Options{Now: at(0)})
	const left = 100 * time.Millisecond // of the lease of the first
	waits := make(chan time.Duration, 10)
	opened := make(chan *postgres.Store, 1)
	var group errgroup.Group
	group.Go(func() error {
		s, err := postgres.Open(ctx, fillOptions(t, postgres.Options{
			Now: at(ttl - left), Waiting: func(lasts time.Duration) { waits <- lasts },
		}))
		opened <- s
		return err
	})
	wanttest.Equal(t, "how long it waits", receive(t, "it says that it waits", waits), left)
	musttest.Do(t, first.Remember(ctx, chat, "k", "v"))
	wanttest.Equal(t, "how many are open before the lease has ended", len(opened), 0)
	musttest.Do(t, first.Close())
	second := receive(t, "it opens the state", opened)
	musttest.Do(t, group.Wait())
	defer second.Close()
	wanttest.Equal(t, "how often it said so again", len(waits), 0)
	wanttest.Equal(t, "the second leads", getBeat(t, second, true).Leader, true)
	late := openMember(t, postgres.Options{Now: at(3 * ttl), Waiting: func(time.Duration) { t.Error("it waits") }})
	checkGone(t, second) // its lease had ended
	wanttest.Equal(t, "the third leads", getBeat(t, late, true).Leader, true)
}

func TestAMemberWhoseLeaseHasEndedIsGoneForGood(t *testing.T) {
	one := openMember(t, postgres.Options{Info: store.MemberInfo{Labels: []string{"gpu"}}})
	wanttest.Equal(t, "one leads", getBeat(t, one, true).Leader, true)
	two := openMember(t, postgres.Options{Name: "two"})
	wanttest.Equal(t, "two leads too", getBeat(t, two, true).Leader, false)
	later := openMember(t, postgres.Options{Name: "three", Now: after(ttl / 2)})
	wanttest.Equal(t, "three leads before the lease has ended", getBeat(t, later, true).Leader, false)
	gone := openMember(t, postgres.Options{Name: "four", Now: after(ttl + time.Minute)})
	wanttest.Equal(t, "four leads", getBeat(t, gone, true).Leader, true)
	checkGone(t, one)
	wanttest.Equal(t, "the members", listMembers(t, gone), "[four up[] leads one gone[gpu] three up[] two gone[]]")
	week := openMember(t, postgres.Options{Name: "five", Now: after(7*24*time.Hour + ttl + 2*time.Minute)})
	getBeat(t, week, false)
	wanttest.Equal(t, "the members after a week", listMembers(t, week), "[five up[] four gone[] three gone[]]")
}

func TestADrainingLeaderLeadsUntilItGivesUp(t *testing.T) {
	dir := t.TempDir()
	one, two := openMember(t, postgres.Options{Dir: dir}), openMember(t, postgres.Options{Name: "two"})
	getBeat(t, one, true)
	for name, want := range map[string]bool{"one": true, "none": false} {
		found, err := two.Drain(ctx, name)
		musttest.Do(t, err)
		wanttest.Equal(t, name+" was found", found, want)
	}
	b := getBeat(t, one, true)
	wanttest.Equal(t, "one leads, and is draining", [2]bool{b.Leader, b.Draining}, [2]bool{true, true})
	wanttest.Equal(t, "two leads before that", getBeat(t, two, true).Leader, false)
	wanttest.Equal(t, "the members", listMembers(t, two), "[one draining[] leads two up[]]")
	wanttest.Equal(t, "one leads after it gave up", getBeat(t, one, false).Leader, false)
	wanttest.Equal(t, "one is elected again", getBeat(t, one, true).Leader, false)
	wanttest.Equal(t, "two leads", getBeat(t, two, true).Leader, true)
	again := openMember(t, postgres.Options{Dir: dir})
	wanttest.Equal(t, "one is draining after a restart", getBeat(t, again, true).Draining, false)
}

func TestCloseGivesEverythingUpAtOnce(t *testing.T) {
	one, two := openMember(t, postgres.Options{}), openMember(t, postgres.Options{Name: "two"})
	getBeat(t, one, true)
	musttest.Do(t, one.Close())
	musttest.Do(t, one.Close())
	if err := one.Remember(ctx, chat, "k", "v"); err == nil {
		t.Error("a change after Close succeeded")
	}
	wanttest.Equal(t, "two leads", getBeat(t, two, true).Leader, true)
	wanttest.Equal(t, "the members", listMembers(t, two), "[one gone[] two up[] leads]")
}

func TestACommandNeedsNoBeats(t *testing.T) {
	one := openMember(t, postgres.Options{})
	command := openMember(t, postgres.Options{Command: true})
	killed := openMember(t, postgres.Options{Command: true})
	getBeat(t, one, true)
	later := openMember(t, postgres.Options{Name: "later", Now: after(23 * time.Hour)})
	getBeat(t, later, true)
	musttest.Do(t, command.Remember(ctx, chat, "k", "v"))
	musttest.Do(t, command.Close())
	wanttest.Equal(t, "the members", listMembers(t, later), "[later up[] leads one gone[]]")
	countRows := func() (members, calls int) {
		musttest.Do(t, connect(t).QueryRow(ctx, "SELECT (SELECT count(*) FROM member WHERE command), "+
			"(SELECT count(DISTINCT member) FROM call)").Scan(&members, &calls))
		return members, calls
	}
	members, calls := countRows()
	wanttest.Equal(t, "commands, and members that may change something", [2]int{members, calls}, [2]int{1, 2})
	day := openMember(t, postgres.Options{Name: "later", Dir: t.TempDir(), Now: after(25 * time.Hour)})
	getBeat(t, day, true)
	members, calls = countRows()
	wanttest.Equal(t, "commands, and members that may change something", [2]int{members, calls}, [2]int{0, 1})
	checkGone(t, killed)
}

func TestOneMemberLeadsWhateverHappensAtTheSameTime(t *testing.T) {
	t.Parallel()
	const members = 6
	rounds := killtest.Pick(12, 30) // each member restarts in one of five, and wants to lead in six of seven
	first := openMember(t, postgres.Options{Name: "0"})
	execSQL(t, countFunction)
	leads := make([]bool, members) // what each believes
	dirs := make([]string, members)
	for n := range dirs {
		dirs[n] = t.TempDir()
	}
	all := make([]*postgres.Store, members)
	open := func(n int) (*postgres.Store, error) {
		return postgres.Open(ctx, fillOptions(t, postgres.Options{Name: fmt.Sprint("m", n), Dir: dirs[n]}))
	}
	for round := range rounds {
		var group errgroup.Group
		for n := range members {
			group.Go(func() (err error) {
				if all[n] == nil || (round+n)%5 == 0 { // the predecessor is gone, without Close
					if all[n], err = open(n); err != nil {
						return err
					}
					t.Cleanup(func() { _ = all[n].Close() })
				}
				b, err := all[n].Beat(ctx, (round+n)%7 != 0)
				leads[n] = b.Leader
				var count int
				return errors.Join(err, all[n].Call(ctx, "count_call", fmt.Sprint("net:", n%2), false, &count))
			})
			group.Go(func() error {
				_, err := first.Beat(ctx, false)
				return err
			})
		}
		musttest.Do(t, group.Wait())
		leaders := 0
		for n, l := range leads {
			if l && musttest.Get(all[n].Beat(ctx, true))(t).Leader {
				leaders++
			}
		}
		if leaders > 1 {
			t.Fatalf("%d members lead", leaders)
		}
	}
	wanttest.Equal(t, "the calls that were counted", readCount(t, "net:0")+readCount(t, "net:1"), int64(members*rounds))
}

func TestOfMembersWhoseLeasesHaveAllEndedOneGoesOn(t *testing.T) {
	t.Parallel()
	proxy := postgrestest.NewProxy(t)
	for range killtest.Pick(2, 5) {
		const members = 6
		all := make([]*postgres.Store, members)
		for n := range all {
			all[n] = openMember(t, postgres.Options{URL: proxy.URL(), Name: fmt.Sprint(n)})
			getBeat(t, all[n], false) // prepares the statement
			receive(t, "it listens", all[n].Hints())
		}
		execSQL(t, "UPDATE member SET lease = 1 WHERE lease > 0")
		proxy.Counts()
		var group errgroup.Group
		var leaders, gone atomic.Int32
		for _, s := range all {
			group.Go(func() error {
				b, err := s.Beat(ctx, true)
				switch {
				case errors.Is(err, store.ErrFenced):
					gone.Add(1)
				case b.Leader:
					leaders.Add(1)
				}
				return nil
			})
		}
		musttest.Do(t, group.Wait())
		wanttest.Equal(t, "how many lead, and are gone", [2]int32{leaders.Load(), gone.Load()}, [2]int32{1, members - 1})
		if requests, _ := proxy.Counts(); requests != members { // a deadlock would be tried again
			t.Errorf("%d requests for %d beats", requests, members)
		}
		for _, s := range all {
			musttest.Do(t, s.Close())
		}
	}
}

func TestALeaseLastsFromTheTryThatSucceeded(t *testing.T) {
	proxy := postgrestest.NewProxy(t)
	s := openMember(t, postgres.Options{URL: proxy.URL()})
	var tried atomic.Bool
	proxy.Decide(func(request []byte) postgrestest.Fate {
		if bytes.Contains(request, []byte("beat")) && !tried.Swap(true) {
			return postgrestest.CutBefore
		}
		return postgrestest.Pass
	})
	if lease := getBeat(t, s, true).Lease; lease < ttl+5*time.Millisecond { // the pause before the second try
		t.Errorf("it lasts %v", lease)
	}
}

func TestHintsTellOtherMembersOfChanges(t *testing.T) {
	proxy := postgrestest.NewProxy(t)
	one := openMember(t, postgres.Options{URL: proxy.URL()})
	two := openMember(t, fillOptions(t, postgres.Options{Name: "two"}).WithAttempt(time.Second)) // also the pause before it listens again
	execSQL(t, countFunction)
	receive(t, "one listens", one.Hints())
	receive(t, "two listens", two.Hints())
	notifies := make(chan struct{}, 100)
	resume := make(chan struct{})
	proxy.Decide(func(request []byte) postgrestest.Fate {
		if bytes.Contains(request, []byte(schemaOf(t))) { // of NOTIFY
			notifies <- struct{}{}
			<-resume
		}
		return postgrestest.Pass
	})
	var n int
	for range 50 {
		musttest.Do(t, one.Call(ctx, "count_call", "net:a", false, &n))
	}
	musttest.Do(t, one.Remember(ctx, chat, "k", "v")) // others do not want to know this
	receive(t, "one sends a hint", notifies)
	close(resume)
	receive(t, "two gets the hint", two.Hints())
	select {
	case <-one.Hints():
		t.Error("a member got its own hint")
	default:
	}
	musttest.Do(t, one.Close())
	if len(notifies) > 2 { // one for the changes during the first, and that of Close
		t.Errorf("%d hints for 50 changes", len(notifies)+1)
	}
	receive(t, "two gets the hint of Close", two.Hints())
	execSQL(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND application_name = 'nanobot "+two.Member()+"'")
	receive(t, "two listens on a new connection", two.Hints())
	command := openMember(t, postgres.Options{Command: true})
	musttest.Do(t, command.Call(ctx, "count_call", "net:a", false, &n))
	musttest.Do(t, command.Close())
	receive(t, "two gets the hint of a command", two.Hints())
}

func TestACallThatEndsEarlyLeavesNothingBehind(t *testing.T) {
	s := openMember(t, postgres.Options{})
	ended, end := context.WithCancel(ctx)
	end()
	for range 2 * postgres.MaxChanges {
		if err := s.Remember(ended, chat, "k", "v"); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
	musttest.Do(t, s.Remember(ctx, chat, "k", "v"))
}

func TestADrainedMemberClaimsNothingFromThenOn(t *testing.T) {
	s := openMember(t, postgres.Options{URL: postgrestest.URL(t), Name: "a"})
	if found, err := s.Drain(ctx, "a"); !found || err != nil {
		t.Fatalf("drain: got %t, %v", found, err)
	}
	in := channels.Incoming{Chat: chat, ID: "1", Text: "x", User: channels.User{ID: "u"}}
	got := musttest.Get(s.Receive(ctx, store.ReceiveRequest{In: in, Claim: true}))(t)
	wanttest.Equal(t, "what is received", got.Disposition, store.Queued)
	wanttest.Equal(t, "what is claimed", len(musttest.Get(s.Claim(ctx, store.ClaimRequest{Limit: 1}))(t)), 0)
}

func TestALeaderThatGivesUpHasStoredItsCursors(t *testing.T) {
	one, two := openMember(t, postgres.Options{}), openMember(t, postgres.Options{Name: "two"})
	getBeat(t, one, true)
	musttest.Do(t, one.SetCursor(ctx, chat.Channel, "5"))
	getBeat(t, one, false)
	wanttest.Equal(t, "the cursor of the next leader", musttest.Get(two.Cursor(ctx, chat.Channel))(t), "5")
}
