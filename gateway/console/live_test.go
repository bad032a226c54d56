package console_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/console"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// liveFixture is a console on a store whose reads of turns are counted and can be broken, and the
// events that the console publishes.
type liveFixture struct {
	store.Store
	*console.Console
	t         *testing.T
	published chan string

	mu     sync.Mutex
	reads  int
	broken bool
}

// runLive runs a test in a synctest bubble, with a console on a store with two turns.
func runLive(t *testing.T, test func(t *testing.T, w *liveFixture)) {
	t.Helper()
	dir := t.TempDir()
	sqlitetest.Prepare(t, dir)
	synctest.Test(t, func(t *testing.T) { test(t, newLiveFixture(t, dir)) })
}

func newLiveFixture(t *testing.T, dir string) *liveFixture {
	t.Helper()
	st := musttest.Get(sqlite.Open(t.Context(), dir, sqlite.Options{}))(t)
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, id := range []string{"a", "b"} {
		in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: id}, ID: "message-" + id, Text: "hello"}
		musttest.Get(st.Receive(t.Context(), store.ReceiveRequest{In: in}))(t)
	}
	w := &liveFixture{Store: st, t: t, published: make(chan string, 10_000)}
	w.Console = console.New(w, zap.NewNop())
	return w
}

func (w *liveFixture) Inbound(ctx context.Context, id int64) (store.Inbound, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads++; w.broken {
		return store.Inbound{}, false, errors.New("disk on fire")
	}
	return w.Store.Inbound(ctx, id)
}

// Deliveries are too much to read for a list.
func (w *liveFixture) Deliveries(context.Context, int64) ([]store.Delivery, error) {
	w.t.Error("all that was sent was read")
	return nil, nil
}

// markChanged tells the console that turns have changed.
func (w *liveFixture) markChanged(ids ...int64) {
	for _, id := range ids {
		w.Observe(events.Event{Type: events.Started, Inbound: id})
	}
}

// run runs the console until the test ends.
func (w *liveFixture) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		w.Run(ctx, func(event string, data any) {
			if t, ok := data.(console.Turn); ok {
				event += fmt.Sprint(" ", t.ID, " ", t.Message)
				if len(t.Sends) > 0 {
					event += fmt.Sprint(" ", t.Sends)
				}
			}
			w.published <- event
		})
	})
	w.t.Cleanup(func() { cancel(); work.Wait() })
}

// next returns the next published event.
func (w *liveFixture) next() string {
	w.t.Helper()
	select {
	case event := <-w.published:
		return event
	case <-time.After(awaitTimeout):
		w.t.Fatal("nothing is told")
		return ""
	}
}

func TestTooManyChangesArePublishedAsOneReload(t *testing.T) {
	runLive(t, func(t *testing.T, w *liveFixture) {
		for id := range int64(1200) {
			w.markChanged(id + 1)
		}
		w.run()
		wanttest.Equal(t, "told", w.next(), "reload")
		w.markChanged(2)
		wanttest.Equal(t, "then", w.next(), "turn 2 message-b")
	})
}

func TestNothingIsReadWhileNobodyWatches(t *testing.T) {
	runLive(t, func(t *testing.T, w *liveFixture) {
		asked, answer := make(chan struct{}), make(chan bool)
		stop := make(chan struct{})
		w.Watched = func() bool {
			select {
			case asked <- struct{}{}:
				return <-answer
			case <-stop:
				return false
			}
		}
		w.markChanged(1)
		w.run()
		t.Cleanup(func() { close(stop) })
		ask := func() {
			t.Helper()
			select {
			case <-asked:
			case <-time.After(awaitTimeout):
				t.Fatal("it does not ask whether anybody watches")
			}
		}
		for range 2 {
			ask()
			answer <- false
		}
		ask()
		w.markChanged(2) // which is for the next look, for the changes of this one are taken
		w.mu.Lock()
		looks := w.reads
		w.mu.Unlock()
		wanttest.Equal(t, "the store was read … times:", looks, 0)
		answer <- true
		ask()
		answer <- true
		wanttest.Equal(t, "told", w.next(), "turn 2 message-b")
	})
}

func TestPublishedTurnsHaveTheirNumberOfDeliveries(t *testing.T) {
	runLive(t, func(t *testing.T, w *liveFixture) {
		chat := channels.Chat{Channel: "net", ID: "a"}
		claimed, err := w.Claim(t.Context(), store.ClaimRequest{Limit: 1})
		if err != nil || len(claimed) != 1 {
			t.Fatal(claimed, err)
		}
		inbound := claimed[0]
		parts := []channels.Outgoing{{Chat: chat, Text: "one"}, {Chat: chat, Text: "two"}}
		if _, _, err := w.Enqueue(t.Context(), store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts}); err != nil {
			t.Fatal(err)
		}
		w.markChanged(1)
		w.run()
		wanttest.Equal(t, "told", w.next(), "turn 1 message-a map[pending:2]")
	})
}

func TestATurnThatCannotBeReadIsPublishedLater(t *testing.T) {
	runLive(t, func(t *testing.T, w *liveFixture) {
		w.broken = true
		w.markChanged(1, 2, 99) // of which there is none
		w.run()
		for deadline := time.Now().Add(awaitTimeout); ; time.Sleep(time.Millisecond) {
			w.mu.Lock()
			looks := w.reads
			w.broken = looks < 2
			w.mu.Unlock()
			if looks >= 2 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("it does not look")
			}
		}
		got := []string{w.next(), w.next()}
		if slices.Sort(got); !slices.Equal(got, []string{"turn 1 message-a", "turn 2 message-b"}) {
			t.Errorf("told %q", got)
		}
	})
}
