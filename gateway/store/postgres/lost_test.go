package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/gateway/beat"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

func message(id string) channels.Incoming {
	return channels.Incoming{Chat: chat, ID: id, Text: "hello", User: channels.User{ID: "7"}}
}

func outgoing(text string) []channels.Outgoing { return []channels.Outgoing{{Chat: chat, Text: text}} }

// loseAnswer has the server carry out the next call of a function, whose answer gets lost. The
// context ends with it, so that the call is not repeated.
func loseAnswer(proxy *postgrestest.Proxy, function string) context.Context {
	ending, end := context.WithCancel(ctx)
	proxy.Decide(func(request []byte) postgrestest.Fate {
		if !bytes.Contains(request, []byte(function)) {
			return postgrestest.Pass
		}
		end()
		return postgrestest.CutBehind
	})
	return ending
}

func TestACallGivesUpBeforeTheLeaseEnds(t *testing.T) {
	proxy := postgrestest.NewProxy(t)
	const lease = 2 * time.Second
	s := openMember(t, fillOptions(t, postgres.Options{URL: proxy.URL(), TTL: lease}).WithAttempt(time.Minute))
	var tries atomic.Int32
	proxy.Decide(func([]byte) postgrestest.Fate {
		tries.Add(1)
		return postgrestest.CutBefore
	})
	limited, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	pausetest.Try(t, 300*time.Millisecond, func() error { // it tries for two thirds of the lease
		tries.Store(0)
		began := time.Now()
		err := s.Remember(limited, chat, "k", "v")
		if err == nil || tries.Load() == 0 || limited.Err() != nil {
			t.Fatalf("got %v after %d tries", err, tries.Load())
		}
		if took := time.Since(began); took >= lease {
			return fmt.Errorf("it took %v", took)
		}
		return nil
	})
	proxy.Decide(func([]byte) postgrestest.Fate { return postgrestest.Pass })
}

func TestAClaimWhoseAnswerIsLostForGoodIsAdopted(t *testing.T) {
	for name, c := range map[string]struct {
		function string
		claim    func(ctx context.Context, s *postgres.Store) (id int64, err error)
		delivery bool
	}{
		"a received message": {"receive", func(ctx context.Context, s *postgres.Store) (int64, error) {
			r, err := s.Receive(ctx, store.ReceiveRequest{In: message("2"), Claim: true})
			return r.Inbound.ID, err
		}, false},
		"a message of the line": {"claim", func(ctx context.Context, s *postgres.Store) (int64, error) {
			_, err := s.Receive(ctx, store.ReceiveRequest{In: message("2")})
			musttest.Do(t, err)
			all, err := s.Claim(ctx, store.ClaimRequest{Limit: 1})
			if len(all) > 0 {
				return all[0].ID, err
			}
			return 0, err
		}, false},
		"a delivery of its own message": {"enqueue", func(ctx context.Context, s *postgres.Store) (int64, error) {
			d, _, err := s.Enqueue(ctx, store.Outbound{Parts: outgoing("b"), Claim: true})
			return d.ID, err
		}, true},
		"the next delivery": {"next_delivery", func(ctx context.Context, s *postgres.Store) (int64, error) {
			_, _, err := s.Enqueue(ctx, store.Outbound{Parts: outgoing("b")})
			musttest.Do(t, err)
			d, _, err := s.NextDelivery(ctx, chat, 0)
			return d.ID, err
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := postgrestest.NewProxy(t)
			s := openMember(t, postgres.Options{URL: proxy.URL()})
			known := musttest.Get(s.Receive(ctx, store.ReceiveRequest{
				In: channels.Incoming{Chat: channels.Chat{Channel: "net", ID: "b"}, ID: "1", Text: "hello"}, Claim: true,
			}))(t)
			if id, err := c.claim(loseAnswer(proxy, c.function), s); err == nil {
				t.Fatalf("its answer was not lost: %d", id)
			}
			for range 2 {
				wanttest.Equal(t, "the member finds it while the call may last", getBeat(t, s, true).Adoptable, false)
			}
			s.AgeUnknown(ttl)
			wanttest.Equal(t, "it finds it later", getBeat(t, s, true).Adoptable, true)
			adopted := musttest.Get(s.Adopt(ctx))(t)
			if c.delivery {
				wanttest.Equal(t, "adopted deliveries", len(adopted.Deliveries), 1)
				_ = musttest.Get(s.Settle(ctx, adopted.Deliveries[0].ID, store.Settlement{State: store.Sent}))(t)
			} else {
				wanttest.Equal(t, "adopted messages", fmt.Sprint(len(adopted.Inbounds), " ", adopted.Inbounds[0].In.ID), "1 2")
				musttest.Do(t, s.Requeue(ctx, adopted.Inbounds[0].ID, true))
			}
			wanttest.Equal(t, "what is adopted again", fmt.Sprint(musttest.Get(s.Adopt(ctx))(t)), fmt.Sprint(store.Adopted{}))
			_ = musttest.Get(s.Finish(ctx, known.Inbound.ID, store.Done, store.Outcome{}))(t)
		})
	}
}

func TestTheEndOfACallersContextDoesNotHideWhatACallHasDone(t *testing.T) {
	s := openMember(t, postgres.Options{})
	blocker := musttest.Get(connect(t).Begin(ctx))(t)
	_ = musttest.Get(blocker.Exec(ctx, "SELECT lock_chats('{net:a}')"))(t)
	ending, end := context.WithCancel(ctx)
	var group errgroup.Group
	var result store.ReceiveResult
	group.Go(func() (err error) {
		result, err = s.Receive(ending, store.ReceiveRequest{In: message("1"), Claim: true})
		return err
	})
	watch := connect(t)
	waitUntil(t, "the call waits for the chat", func() bool {
		var waiting int
		musttest.Do(t, watch.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND application_name = $1`, "nanobot "+s.Member()).Scan(&waiting))
		return waiting == 1
	})
	end()
	musttest.Do(t, blocker.Rollback(ctx))
	musttest.Do(t, group.Wait())
	wanttest.Equal(t, "what was done", result.Disposition, store.Claimed)
}

func TestAClaimIsFoundAgainWhateverOthersChangeMeanwhile(t *testing.T) {
	for name, meanwhile := range map[string]func(*testing.T, *postgres.Store, int64){
		"its person loses access": func(t *testing.T, other *postgres.Store, _ int64) {
			musttest.Do(t, other.Dismiss(ctx, store.Person{Channel: "net", User: "7"}))
		},
		"its text is erased": func(t *testing.T, other *postgres.Store, id int64) {
			_ = musttest.Get(other.EraseText(ctx, id))(t)
		},
		"it is stopped": func(t *testing.T, other *postgres.Store, id int64) {
			musttest.Do(t, other.MarkStopped(ctx, chat, id))
		},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := postgrestest.NewProxy(t)
			s, other := openMember(t, postgres.Options{URL: proxy.URL()}), openMember(t, postgres.Options{Name: "two"})
			r := musttest.Get(s.Receive(ctx, store.ReceiveRequest{In: message("1")}))(t)
			_, _, err := s.Enqueue(ctx, store.Outbound{About: r.Inbound.ID, Parts: outgoing("a")})
			musttest.Do(t, err)
			tries := map[string]int{}
			proxy.Decide(func(request []byte) postgrestest.Fate {
				for _, function := range []string{"claim", "next_delivery"} {
					if !bytes.Contains(request, []byte(function)) {
						continue
					}
					if tries[function]++; tries[function] == 1 {
						return postgrestest.CutBehind
					} else if tries[function] == 2 {
						meanwhile(t, other, r.Inbound.ID)
					}
				}
				return postgrestest.Pass
			})
			delivery, sending, err := s.NextDelivery(ctx, chat, 0)
			musttest.Do(t, err)
			wanttest.Equal(t, "what is sent", fmt.Sprint(sending, " ", delivery.Out.Text), "true a")
			wanttest.Equal(t, "tries", tries["next_delivery"], 2)
		})
		t.Run(name+", in the line", func(t *testing.T) {
			proxy := postgrestest.NewProxy(t)
			s, other := openMember(t, postgres.Options{URL: proxy.URL()}), openMember(t, postgres.Options{Name: "two"})
			r := musttest.Get(s.Receive(ctx, store.ReceiveRequest{In: message("1")}))(t)
			tries := 0
			proxy.Decide(func(request []byte) postgrestest.Fate {
				if !bytes.Contains(request, []byte("claim")) {
					return postgrestest.Pass
				}
				if tries++; tries == 1 {
					return postgrestest.CutBehind
				} else if tries == 2 {
					meanwhile(t, other, r.Inbound.ID)
				}
				return postgrestest.Pass
			})
			claimed := musttest.Get(s.Claim(ctx, store.ClaimRequest{Limit: 1}))(t)
			wanttest.Equal(t, "how many are claimed", len(claimed), 1)
		})
	}
}

func TestBeatsGoOnAsSoonAsTheNetworkAlthoughAllOtherCallsHang(t *testing.T) {
	proxy := postgrestest.NewProxy(t)
	s := openMember(t, fillOptions(t, postgres.Options{URL: proxy.URL()}).WithAttempt(3*time.Second))
	execSQL(t, countFunction)
	receive(t, "it listens", s.Hints())
	running, stop := context.WithCancel(ctx)
	defer stop()
	const calls = postgres.MaxChanges + postgres.MaxReads
	callAll := func() *errgroup.Group {
		var group errgroup.Group
		for n := range calls {
			group.Go(func() (err error) {
				if n < postgres.MaxReads {
					_, err = s.Recall(running, chat, "k")
					return err
				}
				return s.Call(running, "count_call", fmt.Sprint("net:", n), false, &n)
			})
		}
		return &group
	}
	var waiting atomic.Int32
	all := make(chan struct{})
	proxy.Decide(func(request []byte) postgrestest.Fate {
		if bytes.Contains(request, []byte("net:")) {
			if waiting.Add(1) == calls {
				close(all)
			}
			<-all // so that each call has its own connection
		}
		return postgrestest.Pass
	})
	musttest.Do(t, callAll().Wait())
	beats := beat.NewListener()
	var group errgroup.Group
	group.Go(func() error { return beat.Run(running, s, func() bool { return true }, zaptest.NewLogger(t), beats) })
	receive(t, "it beats", beats)
	var healed atomic.Bool
	var hung atomic.Int32
	allHang := make(chan struct{})
	proxy.Decide(func(request []byte) postgrestest.Fate {
		switch {
		case healed.Load():
			return postgrestest.Pass
		case bytes.Contains(request, []byte("net:")), bytes.Contains(request, []byte("change(")),
			bytes.Contains(request, []byte("FROM memory")):
			if hung.Add(1) == calls {
				close(allHang)
			}
			return postgrestest.Silent
		case hung.Load() < calls: // a beat before all of the others hang
			return postgrestest.Pass
		}
		healed.Store(true)
		return postgrestest.Silent
	})
	hanging := callAll()
	receive(t, "all calls hang", allHang)
	execSQL(t, fmt.Sprintf(`SELECT pg_notify('%s', 'other')`, schemaOf(t)))
	receive(t, "it beats after the silence", beats)
	stop()
	if err := group.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	_ = hanging.Wait()
	proxy.Deliver()
}

func TestForwardedMessagesOfAChatForTwoMembersAreReceivedInOrder(t *testing.T) {
	one, two := openMember(t, postgres.Options{}), openMember(t, postgres.Options{Name: "two"})
	musttest.Do(t, one.Forward(ctx, message("1")))
	musttest.Do(t, one.Forward(ctx, message("2")))
	execSQL(t, fmt.Sprintf("UPDATE forward SET member = '%s' WHERE incoming LIKE '%%\"2\"%%'", two.Member()))
	getBeat(t, one, true)
	getBeat(t, two, true)
	if _, err := two.Receive(ctx, store.ReceiveRequest{In: message("2")}); !errors.Is(err, store.ErrKept) {
		t.Errorf("the second message before the first: got %v, want ErrKept", err)
	}
	chat := message("1").Chat
	kept := func(s *postgres.Store) (what []bool) {
		read := musttest.Get(s.ReadChat(ctx, chat))(t)
		return []bool{read.Kept, read.Forwarded}
	}
	wanttest.EqualSlices(t, "kept and forwarded for the first member", kept(one), []bool{false, true})
	wanttest.EqualSlices(t, "for the second", kept(two), []bool{true, true})
	for _, s := range []*postgres.Store{one, two} {
		all := musttest.Get(s.Forwarded(ctx, 9))(t)
		wanttest.Equal(t, "messages for "+s.Member(), len(all), 1)
		_ = musttest.Get(s.Receive(ctx, store.ReceiveRequest{In: all[0].In}))(t)
		musttest.Do(t, s.DropForwarded(ctx, all[0].ID))
	}
	wanttest.EqualSlices(t, "in the end, for the second", kept(two), []bool{false, false})
}

func TestAReceivedMessageIsDroppedAlthoughItsKeeperHasChanged(t *testing.T) {
	one, two := openMember(t, postgres.Options{}), openMember(t, postgres.Options{Name: "two"})
	musttest.Do(t, one.Forward(ctx, message("1")))
	all := musttest.Get(one.Forwarded(ctx, 9))(t)
	_ = musttest.Get(one.Receive(ctx, store.ReceiveRequest{In: all[0].In}))(t)
	wanttest.Equal(t, "what the other claims", len(musttest.Get(two.Claim(ctx, store.ClaimRequest{Limit: 1}))(t)), 1)
	getBeat(t, one, true) // the message becomes that of the keeper
	musttest.Do(t, one.DropForwarded(ctx, all[0].ID))
	wanttest.Equal(t, "what the keeper is to receive again", len(musttest.Get(two.Forwarded(ctx, 9))(t)), 0)
}

func TestAMemberInTheSameFolderIsThePredecessorAlsoUnderAnotherName(t *testing.T) {
	dir := t.TempDir()
	first := openMember(t, postgres.Options{Dir: dir})
	claimed := musttest.Get(first.Receive(ctx, store.ReceiveRequest{In: message("1"), Claim: true}))(t)
	second := openMember(t, postgres.Options{Dir: dir, Name: "renamed"})
	checkGone(t, first)
	adopted := musttest.Get(second.Adopt(ctx))(t)
	wanttest.Equal(t, "how much is adopted", len(adopted.Inbounds), 1)
	wanttest.Equal(t, "what is adopted", adopted.Inbounds[0].ID, claimed.Inbound.ID)
}
