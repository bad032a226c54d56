package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway"
	"nanobot/gateway/store"
	"nanobot/internal/wanttest"
)

// failingStore is a store whose methods can be made to fail or hang.
type failingStore struct {
	store.Store
	claims  chan struct{} // if not nil, claims wait until it is closed
	writes  atomic.Pointer[func() error]
	claimed chan struct{}
}

func (s *failingStore) Claim(ctx context.Context, c store.ClaimRequest) ([]store.Inbound, error) {
	if s.claims != nil {
		select {
		case s.claimed <- struct{}{}:
		default:
		}
		<-s.claims
	}
	return s.Store.Claim(ctx, c)
}

func (s *failingStore) CheckWritable(ctx context.Context) error {
	if f := s.writes.Load(); f != nil {
		return (*f)()
	}
	return s.Store.CheckWritable(ctx)
}

// newFailingStoreFixture returns a fixture with a failingStore.
func newFailingStoreFixture(t *testing.T, s *failingStore) *fixture {
	t.Helper()
	fx := newFixture(t, "true")
	fx.wrapStore = func(inner store.Store) store.Store { s.Store = inner; return s }
	return fx
}

// checkLiveness runs a liveness check within a time, which is short if the check must fail.
func checkLiveness(t *testing.T, p *gateway.Liveness, within time.Duration) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if err := p.Check(ctx); err != nil {
		return err.Error()
	}
	return ""
}

func TestTheDispatcherIsAliveWhileAllSlotsAreTaken(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; echo '{"type":"message","text":"up"}'; exec sleep 300`)
	fx.slots, fx.settings.DrainTimeout = 1, time.Millisecond
	fx.start()
	p := fx.gw.Liveness()
	defer p.Wait()
	fx.net.UserWrites("a", "7", "work")
	fx.awaitText("a", "up")
	fx.net.UserWrites("b", "7", "work")
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(2 * time.Millisecond) { // it waits for the slot
		h := fx.gw.Health(t.Context())
		if h.Waiting == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", h)
		}
	}
	for range 3 {
		wanttest.Equal(t, "not alive:", checkLiveness(t, p, testTimeout), "")
	}
}

func TestADispatcherThatHangsIsNotAlive(t *testing.T) {
	t.Parallel()
	s := &failingStore{claims: make(chan struct{}), claimed: make(chan struct{}, 1)}
	fx := newFailingStoreFixture(t, s).start()
	p := fx.gw.Liveness()
	defer p.Wait()
	<-s.claimed
	wanttest.Equal(t, "got", checkLiveness(t, p, 50*time.Millisecond), "the dispatcher does not respond")
	close(s.claims)
	wanttest.Equal(t, "healed, but:", checkLiveness(t, p, testTimeout), "")
}

func TestAHungOrFailingStoreIsNotAliveButAFullOneIs(t *testing.T) {
	t.Parallel()
	s := &failingStore{}
	fx := newFailingStoreFixture(t, s).start()
	p := fx.gw.Liveness()
	defer p.Wait()
	answer, asked := make(chan error), atomic.Int32{}
	slow := func() error { asked.Add(1); return <-answer }
	s.writes.Store(&slow)
	for silent, deadline := 0, time.Now().Add(testTimeout); silent < 3; {
		switch got := checkLiveness(t, p, 50*time.Millisecond); {
		case got == "the store does not respond":
			silent++
		case got == "" || time.Now().After(deadline): // a loaded machine may be slow to turn
			t.Fatalf("got %q", got)
		}
	}
	wanttest.Equal(t, "writes are under way at once:", asked.Load(), 1)
	answer <- nil
	wanttest.Equal(t, "answered, but:", checkLiveness(t, p, testTimeout), "")
	for reason, want := range map[error]string{
		errors.New("database is locked (5)"):                           "the store cannot be written to: database is locked (5)",
		fmt.Errorf("%w: database or disk is full (13)", store.ErrFull): "",
		errors.New("disk I/O error (266)"):                             "the store cannot be written to: disk I/O error (266)", // a read
		errors.New("disk I/O error: read-only (522)"):                  "the store cannot be written to: disk I/O error: read-only (522)",
	} {
		fail := func() error { return reason }
		s.writes.Store(&fail)
		if got := checkLiveness(t, p, testTimeout); got != want {
			t.Errorf("%s: got %q", reason, got)
		}
	}
}

// dyingChannel is a channel whose network is down, and whose loop can be ended.
type dyingChannel struct {
	channels.Channel
	die   chan struct{}
	tried chan struct{}
}

func (m *dyingChannel) Run(context.Context, channels.Receive) error {
	select {
	case <-m.die:
		runtime.Goexit()
	case m.tried <- struct{}{}:
	}
	return errors.New("the network is down")
}

func TestAChannelThatRetriesIsAliveAndOneWhoseLoopHasEndedIsNot(t *testing.T) {
	t.Parallel()
	m := &dyingChannel{die: make(chan struct{}), tried: make(chan struct{})}
	fx := newFixture(t, "true")
	fx.otherChannels = map[string]channels.Channel{"mortal": m}
	fx.start()
	p := fx.gw.Liveness()
	defer p.Wait()
	<-m.tried
	<-m.tried
	wanttest.Equal(t, "while it retries:", checkLiveness(t, p, testTimeout), "")
	b, err := fx.gw.Summary(t.Context())
	if err != nil || !b.Channels["net"].OK {
		t.Errorf("it is %+v, %v", b, err)
	}
	close(m.die)
	deadline := time.Now().Add(testTimeout)
	for !strings.Contains(checkLiveness(t, p, testTimeout), "the loop of channel mortal has ended") {
		if time.Now().After(deadline) {
			t.Fatal("it is never missed")
		}
	}
}
