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
)

// watched is a console on a store whose looks at turns are counted and may be broken, and what it
// tells.
type watched struct {
	store.Store
	*console.Console
	t    *testing.T
	told chan string

	mu     sync.Mutex
	looks  int
	broken bool
}

// watch runs a test in a synctest bubble, with a console on a store with two turns.
func watch(t *testing.T, test func(t *testing.T, w *watched)) {
	t.Helper()
	dir := t.TempDir()
	sqlitetest.Prepare(t, dir)
	synctest.Test(t, func(t *testing.T) { test(t, newWatched(t, dir)) })
}

func newWatched(t *testing.T, dir string) *watched {
	t.Helper()
	st, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, id := range []string{"a", "b"} {
		in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: id}, ID: "message-" + id, Text: "hello"}
		if _, err := st.Receive(t.Context(), store.ReceiveRequest{In: in}); err != nil {
			t.Fatal(err)
		}
	}
	w := &watched{Store: st, t: t, told: make(chan string, 10_000)}
	w.Console = console.New(w, zap.NewNop())
	return w
}

func (w *watched) Inbound(ctx context.Context, id int64) (store.Inbound, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.looks++; w.broken {
		return store.Inbound{}, false, errors.New("disk on fire")
	}
	return w.Store.Inbound(ctx, id)
}

// Deliveries are too much to read for a list.
func (w *watched) Deliveries(context.Context, int64) ([]store.Delivery, error) {
	w.t.Error("all that was sent was read")
	return nil, nil
}

// change says that turns have changed.
func (w *watched) change(ids ...int64) {
	for _, id := range ids {
		w.Observe(events.Event{Type: events.Started, Inbound: id})
	}
}

// run lets the console tell, until the test ends.
func (w *watched) run() {
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
			w.told <- event
		})
	})
	w.t.Cleanup(func() { cancel(); work.Wait() })
}

// next is what is told next.
func (w *watched) next() string {
	w.t.Helper()
	select {
	case event := <-w.told:
		return event
	case <-time.After(patience):
		w.t.Fatal("nothing is told")
		return ""
	}
}

func TestMoreChangesThanAreKeptAreOneReload(t *testing.T) {
	watch(t, func(t *testing.T, w *watched) {
		for id := range int64(1200) {
			w.change(id + 1)
		}
		w.run()
		if got := w.next(); got != "reload" {
			t.Errorf("told %q", got)
		}
		w.change(2)
		if got := w.next(); got != "turn 2 message-b" {
			t.Errorf("then %q", got)
		}
	})
}

func TestNothingIsReadWhileNobodyWatches(t *testing.T) {
	watch(t, func(t *testing.T, w *watched) {
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
		w.change(1)
		w.run()
		t.Cleanup(func() { close(stop) })
		ask := func() {
			t.Helper()
			select {
			case <-asked:
			case <-time.After(patience):
				t.Fatal("it does not ask whether anybody watches")
			}
		}
		for range 2 {
			ask()
			answer <- false
		}
		ask()
		w.change(2) // which is for the next look, for the changes of this one are taken
		w.mu.Lock()
		looks := w.looks
		w.mu.Unlock()
		if looks != 0 {
			t.Errorf("the store was read %d times", looks)
		}
		answer <- true
		ask()
		answer <- true
		if got := w.next(); got != "turn 2 message-b" {
			t.Errorf("told %q", got)
		}
	})
}

func TestTurnsAreToldWithHowMuchWasSent(t *testing.T) {
	watch(t, func(t *testing.T, w *watched) {
		chat := channels.Chat{Channel: "net", ID: "a"}
		claimed, err := w.Claim(t.Context(), 1)
		if err != nil || len(claimed) != 1 {
			t.Fatal(claimed, err)
		}
		inbound := claimed[0]
		parts := []channels.Outgoing{{Chat: chat, Text: "one"}, {Chat: chat, Text: "two"}}
		if _, _, err := w.Enqueue(t.Context(), store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts}); err != nil {
			t.Fatal(err)
		}
		w.change(1)
		w.run()
		if got := w.next(); got != "turn 1 message-a map[pending:2]" {
			t.Errorf("told %q", got)
		}
	})
}

func TestATurnThatCannotBeReadIsToldOfLater(t *testing.T) {
	watch(t, func(t *testing.T, w *watched) {
		w.broken = true
		w.change(1, 2, 99) // of which there is none
		w.run()
		for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			w.mu.Lock()
			looks := w.looks
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
