package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/terminal/process"
)

// hookedStore is a store that calls hooks before or after certain methods.
type hookedStore struct {
	store.Store
	receive      func(store.ReceiveRequest) error // before it
	enqueue      func(l store.Outbound) error
	enqueued     func(l store.Outbound, claimed bool) // after it
	finish       func() error
	claimed      func(store.Inbound)
	openQuestion func()
	settled      func(store.State) // after it
}

func (h *hookedStore) Settle(ctx context.Context, id int64, s store.Settlement) (bool, error) {
	more, err := h.Store.Settle(ctx, id, s)
	if h.settled != nil && err == nil {
		h.settled(s.State)
	}
	return more, err
}

func (h *hookedStore) Receive(ctx context.Context, request store.ReceiveRequest) (store.ReceiveResult, error) {
	if h.receive != nil {
		if err := h.receive(request); err != nil {
			return store.ReceiveResult{}, err
		}
	}
	return h.Store.Receive(ctx, request)
}

func (h *hookedStore) Enqueue(ctx context.Context, outbound store.Outbound) (store.Delivery, bool, error) {
	if h.enqueue != nil {
		if err := h.enqueue(outbound); err != nil {
			return store.Delivery{}, false, err
		}
	}
	delivery, claimed, err := h.Store.Enqueue(ctx, outbound)
	if h.enqueued != nil {
		h.enqueued(outbound, claimed)
	}
	return delivery, claimed, err
}

func (h *hookedStore) Finish(ctx context.Context, id int64, s store.State, o store.Outcome, with ...int64) (bool, error) {
	if h.finish != nil {
		if err := h.finish(); err != nil {
			return false, err
		}
	}
	return h.Store.Finish(ctx, id, s, o, with...)
}

func (h *hookedStore) Claim(ctx context.Context, c store.ClaimRequest) ([]store.Inbound, error) {
	claimed, err := h.Store.Claim(ctx, c)
	for _, inbound := range claimed {
		if h.claimed != nil {
			h.claimed(inbound)
		}
	}
	return claimed, err
}

func (h *hookedStore) ReadChat(ctx context.Context, c channels.Chat, memories ...string) (store.ChatState, error) {
	read, err := h.Store.ReadChat(ctx, c, memories...)
	if len(read.Questions) > 0 && h.openQuestion != nil {
		h.openQuestion()
	}
	return read, err
}

// startHooked is start with hooks in the store.
func (fx *fixture) startHooked(change func(*hookedStore)) *fixture {
	fx.t.Helper()
	fx.wrapStore = func(s store.Store) store.Store {
		h := &hookedStore{Store: s}
		change(h)
		return h
	}
	return fx.start()
}

func TestAnAnswerBesideAClaimedOneIsSent(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `echo '{"type":"message","text":"m1"}'; `+waitForFileScript("go"))
	stored, release := make(chan struct{}), make(chan struct{})
	fx.startHooked(func(h *hookedStore) {
		h.enqueued = func(outbound store.Outbound, claimed bool) {
			if claimed && outbound.Parts[0].Text == "m1" {
				close(stored)
				<-release
			}
		}
	})
	fx.net.UserWrites("1", "u", "work")
	<-stored
	fx.net.UserWrites("1", "u", "/whoami")
	fx.net.UserWrites("2", "u", "/whoami") // when this is answered, the other is in the outbox
	fx.awaitText("2", "user id")
	close(release)
	fx.expect("1", "m1", "user id: u\nchat: net:1")
	fx.touchFile("go")
}

func TestRetryWaitsForTheEndToBeRecorded(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `echo x >> runs; echo "run $(wc -l < runs)"`)
	release := make(chan struct{})
	fx.startHooked(func(h *hookedStore) {
		h.finish = func() error { <-release; return nil }
	})
	fx.net.UserWrites("1", "u", "work")
	fx.awaitText("1", "run 1")
	fx.net.UserWrites("1", "u", "/retry")
	fx.awaitText("1", "I am still working")
	close(release)
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "/retry")
	fx.awaitText("1", "run 2")
}

func TestAPictureSurvivesAFullDisk(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `printf before > a.png; echo '{"type":"message","text":"look","media":["'$PWD'/a.png"]}'; `+waitForFileScript("copied")+`rm a.png; touch changed; `+waitForFileScript("go"))
	var full atomic.Bool
	full.Store(true)
	fx.startHooked(func(h *hookedStore) {
		h.enqueue = func(store.Outbound) error {
			if !full.CompareAndSwap(true, false) {
				return nil
			}
			fx.touchFile("copied")
			fx.awaitFile("changed")
			return syscall.ENOSPC
		}
	})
	fx.net.UserWrites("1", "u", "go")
	calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(c) == 2 })
	if !ok || calls[1].Files["a.png"] != "before" {
		t.Errorf("sent %+v", calls)
	}
	fx.touchFile("go")
}

func TestStopAlsoStopsATurnThatIsAboutToStart(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case $line in *second*) `+waitForFileScript("never")+`;; *) touch up; `+waitForFileScript("go")+`echo first;; esac`)
	claimed, stopping := make(chan struct{}), make(chan struct{})
	fx.startHooked(func(h *hookedStore) {
		h.claimed = func(i store.Inbound) {
			if i.In.Text == "second" {
				close(claimed)
				<-stopping
			}
		}
	})
	fx.net.UserWrites("1", "u", "first")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "second")
	fx.awaitText("1", "Queued")
	fx.touchFile("go")
	<-claimed
	fx.net.UserWrites("1", "u", "/stop")
	time.AfterFunc(50*time.Millisecond, func() { close(stopping) }) // so that /stop comes first, if it can
	fx.awaitText("1", "Stopped.")
	if got := strings.Join(texts(fx.net.Sent("1")), "|"); strings.Contains(got, "Nothing is running") {
		t.Errorf("was shown %s", got)
	}
}

func TestAnOperatorStopsATurnThatIsAboutToStart(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case $line in *second*) `+waitForFileScript("never")+`;; *) touch up; `+waitForFileScript("go")+`echo first;; esac`)
	claimed, stopping := make(chan store.Inbound), make(chan struct{})
	fx.startHooked(func(h *hookedStore) {
		h.claimed = func(i store.Inbound) {
			if i.In.Text == "second" {
				claimed <- i
				<-stopping
			}
		}
	})
	fx.net.UserWrites("1", "u", "first")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "second")
	fx.awaitText("1", "Queued")
	fx.touchFile("go")
	second := <-claimed
	time.AfterFunc(50*time.Millisecond, func() { close(stopping) }) // so that Stop comes first, if it can
	if err := fx.gw.Stop(t.Context(), second.ID); err != nil {
		t.Fatalf("a turn that was being claimed was not stopped: %v", err)
	}
	fx.awaitText("1", "Stopped.")
}

// recoveringStore is a store whose first Finish of an adopted turn fails.
type recoveringStore struct {
	store.Store
	failed            bool
	adopted, resolved int // how often Adopt was called, and how often a delivery was settled as in doubt
}

func (s *recoveringStore) Adopt(ctx context.Context) (store.Adopted, error) {
	s.adopted++
	return s.Store.Adopt(ctx)
}

func (s *recoveringStore) Settle(ctx context.Context, id int64, end store.Settlement) (bool, error) {
	if end.Doubtful {
		s.resolved++
	}
	return s.Store.Settle(ctx, id, end)
}

func (s *recoveringStore) Finish(ctx context.Context, id int64, state store.State, out store.Outcome, with ...int64) (bool, error) {
	if state == store.Interrupted && !s.failed {
		s.failed = true
		return false, errors.New("not now")
	}
	return s.Store.Finish(ctx, id, state, out, with...)
}

func TestCleanUpAfterACrashHappensOnce(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	chat := channels.Chat{Channel: "net", ID: "1"}
	before := musttest.Get(openState(t.Context(), filepath.Join(fx.dir, ".nanobot")))(t)
	in := channels.Incoming{Chat: chat, ID: "before", User: channels.User{ID: "u"}, Text: "cut off"}
	cut, err := before.Receive(t.Context(), store.ReceiveRequest{In: in, Claim: true})
	if err == nil {
		err = before.SetProcess(cut.Inbound.ID, store.Process(process.NewStartingRecord()))
	}
	if err == nil {
		parts := []channels.Outgoing{{Chat: chat, Kind: channels.Answer, Text: "being sent"}}
		_, _, err = before.Enqueue(t.Context(), store.Outbound{Inbound: cut.Inbound.ID, Sequence: 1, Parts: parts, Claim: true})
	}
	musttest.Do(t, errors.Join(err, before.Close()))
	var s *recoveringStore
	fx.wrapStore = func(inner store.Store) store.Store {
		s = &recoveringStore{Store: inner}
		return s
	}
	fx.start()
	fx.net.UserWrites("1", "u", "hello")
	fx.expect("1", "being sent", "I was restarted while working on this. /retry runs it again.", "you said hello")
	fx.stop()
	most := 1
	if isShared() { // a member that was told to adopt before it did looks once more
		most = 2
	}
	if !s.failed || s.adopted < 1 || s.adopted > most || s.resolved != 1 {
		t.Errorf("failed %t, adopted %d times, resolved %d deliveries", s.failed, s.adopted, s.resolved)
	}
}

func TestAMessageThatComesTooLateForAQuestionGetsATurn(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case $line in *begin*) echo '{"type":"ask","id":"q","text":"Anybody?"}'; `+waitForFileScript("go")+`echo end;; *) echo turn;; esac`)
	fx.terminal.Interactive = true
	fx.startHooked(func(h *hookedStore) {
		h.openQuestion = func() {
			fx.touchFile("go")
			fx.awaitIdle("1")
		}
	})
	fx.net.UserWrites("1", "u", "begin")
	fx.awaitText("1", "Anybody?")
	fx.net.UserWrites("1", "u", "hello?")
	fx.awaitText("1", "→ no answer")
	fx.expect("1", "Anybody?\n\n→ no answer", "end", "turn")
}

func TestAMessageThatTheDiskRefusedDoesNotCountTwice(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	fx.settings.RatePerMinute = 2
	var fails atomic.Int32
	fails.Store(3)
	fx.startHooked(func(h *hookedStore) {
		h.receive = func(store.ReceiveRequest) error {
			if fails.Add(-1) >= 0 {
				return errors.New("disk full")
			}
			return nil
		}
	})
	fx.net.UserWrites("1", "u", "hello")
	fx.expect("1", "you said hello")
}

func TestASlowStopDelaysNoOtherChat(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case $line in *linger*) `+waitForFileScript("never")+`;; *) echo '{"type":"message","text":"done"}';; esac`)
	other := gatewaytest.NewNetwork()
	t.Cleanup(other.Close)
	fx.otherChannels = map[string]channels.Channel{"other": &gatewaytest.Channel{Name: "other", URL: other.URL}}
	fx.settings.AllowFrom["other"] = []string{"*"}
	slow, release := make(chan struct{}), make(chan struct{})
	fx.startHooked(func(h *hookedStore) {
		h.receive = func(request store.ReceiveRequest) error {
			if request.Stop != 0 && request.In.Chat.ID == "slow" {
				close(slow)
				<-release
			}
			return nil
		}
	})
	fx.net.UserWrites("slow", "u", "linger")
	fx.awaitTrue("the turn", func() bool { return len(fx.gw.Activity()[store.DefaultAgent].PIDs) == 1 })
	fx.net.UserWrites("slow", "u", "/stop")
	<-slow
	for i := range 3 { // one after the other, each with a claim of its own
		chat := fmt.Sprint("c", i)
		other.UserWrites(chat, "u", "hello")
		if _, ok := other.Await(chat, testTimeout, func(calls []gatewaytest.Call) bool { return slices.Contains(texts(calls), "done") }); !ok {
			t.Fatalf("chat %s is not answered while another one is being stopped", chat)
		}
	}
	close(release)
	fx.awaitText("slow", "Stopped.")
}

func TestCommandsCountTowardsTheRateAndStopIsAlwaysAccepted(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; `+waitForFileScript("never"))
	fx.settings.RatePerMinute = 2
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	fx.awaitTrue("the turn", func() bool { return len(fx.gw.Activity()[store.DefaultAgent].PIDs) == 1 })
	for range 4 {
		fx.net.UserWrites("2", "u", "/whoami") // the fourth is message number five
	}
	fx.awaitText("2", "more than 2 messages a minute")
	fx.net.UserWrites("1", "u", "/stop")
	fx.awaitText("1", "Stopped.")
}

// slowPlanChannel is a channel whose Plan is slow.
type slowPlanChannel struct {
	*gatewaytest.Channel
	began, release chan struct{}
}

func (s *slowPlanChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	if m.Text == "hang" {
		close(s.began)
		<-s.release
	}
	return s.Channel.Plan(m)
}

func TestStopFreesAChatWhoseAnswerIsStillBeingPosted(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case $line in *again*) echo free;; *) echo '{"type":"message","text":"hang"}'; `+waitForFileScript("never")+`;; esac`)
	slow := &slowPlanChannel{began: make(chan struct{}), release: make(chan struct{})}
	fx.abandonAfter = 100 * time.Millisecond
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { slow.Channel = c; return slow }
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	<-slow.began
	fx.net.UserWrites("1", "u", "/stop")
	fx.awaitText("1", "I continued without it")
	fx.net.UserWrites("1", "u", "again")
	fx.awaitText("1", "free")
	close(slow.release)
}
