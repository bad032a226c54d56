package gateway_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

// protocolFunc is a protocol that consists of one function.
type protocolFunc func(context.Context, terminal.Turn) (terminal.Outcome, error)

func (f protocolFunc) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	return f(ctx, t)
}

func TestAStuckTurnIsAbandonedWhenItIsStopped(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "echo free")
	stuck, spoke := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	fx.abandonAfter = 50 * time.Millisecond
	fx.protocol = protocolFunc(func(ctx context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		if !first.CompareAndSwap(false, true) {
			return rich.Protocol{}.Turn(ctx, tn)
		}
		<-stuck // ignores its context
		defer close(spoke)
		return terminal.Outcome{}, tn.Emit(terminal.Frame{Kind: terminal.Message, Text: "too late"})
	})
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	fx.net.UserWrites("1", "u", "waits")
	fx.awaitText("1", "Queued")
	fx.net.UserWrites("1", "u", "/stop all")
	fx.awaitText("1", "dropped")
	fx.net.UserWrites("1", "u", "again")
	fx.awaitText("1", "free")
	close(stuck)
	<-spoke
	fx.stop()
	if got := strings.Join(texts(fx.net.Sent("1")), "|"); strings.Contains(got, "too late") {
		t.Errorf("a turn that was left behind still spoke: %s", got)
	}
}

func TestAPanicFailsOneTurnOnly(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	var first atomic.Bool
	fx.protocol = protocolFunc(func(ctx context.Context, tn terminal.Turn) (terminal.Outcome, error) {
		if first.CompareAndSwap(false, true) {
			panic("boom")
		}
		return rich.Protocol{}.Turn(ctx, tn)
	})
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	fx.expect("1", "Sorry, the agent could not be run. The bot's operator can find the reason in the log.")
	fx.net.UserWrites("1", "u", "two")
	fx.awaitText("1", "you said two")
	p := musttest.Get(fx.store.Prove(t.Context(), store.ProofRequest{Since: time.Hour, Due: time.Hour}))(t)
	wanttest.Equal(t, "what is not explained", len(p.Open), 0)
}

// failingChannel is a channel that fails a few times before it runs.
type failingChannel struct {
	*gatewaytest.Channel
	fails atomic.Int32
}

func (s *failingChannel) Run(ctx context.Context, receive channels.Receive) error {
	if s.fails.Add(-1) >= 0 {
		if s.fails.Load()%2 == 0 {
			panic("no network")
		}
		return errors.New("no network")
	}
	return s.Channel.Run(ctx, receive)
}

func TestAChannelThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel {
		s := &failingChannel{Channel: c}
		s.fails.Store(2)
		return s
	}
	fx.start()
	fx.net.UserWrites("1", "u", "hello")
	fx.expect("1", "you said hello")
	wanttest.Equal(t, "logged … times:", fx.logs.FilterMessage("channel failed, will retry").Len(), 2)
}

func TestADeliveryDelayedByAWrongClockIsSent(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	s := musttest.Get(openStore(t, fx.dir))(t)
	chat := channels.Chat{Channel: "net", ID: "1"}
	delivery, _, err := s.Enqueue(t.Context(), store.Outbound{Parts: []channels.Outgoing{{Chat: chat, Kind: channels.Answer, Text: "late"}}, Claim: true})
	if err != nil {
		t.Fatal(err)
	}
	musttest.Get(s.Settle(t.Context(), delivery.ID, store.Settlement{State: store.Pending, Reason: "429", After: 10 * 365 * 24 * time.Hour}))(t)
	musttest.Do(t, s.Close())
	fx.start()
	fx.expect("1", "late")
}
