package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// storeWrite identifies a write to the store.
type storeWrite struct {
	method string
	number int  // among the writes of this method, from 1
	after  bool // right after the write, and not right before it
}

func (m storeWrite) String() string {
	when := "before"
	if m.after {
		when = "after"
	}
	return fmt.Sprintf("%s %s %d", when, m.method, m.number)
}

// errCrashed is the error of all writes after a crash.
var errCrashed = errors.New("the gateway has crashed")

// crashingStore is a store whose gateway crashes at a certain write. Nothing is written from then
// on.
type crashingStore struct {
	store.Store
	at    storeWrite
	crash func()

	mu      sync.Mutex
	count   map[string]int
	crashed bool
}

// write carries out a write, unless the gateway has crashed or crashes before it.
func (m *crashingStore) write(method string, do func() error) error {
	m.mu.Lock()
	m.count[method]++
	hit := m.at.method == method && m.count[method] == m.at.number && !m.crashed
	m.crashed = m.crashed || hit && !m.at.after
	crashed := m.crashed
	m.mu.Unlock()
	if !crashed {
		err := do()
		if !hit {
			return err
		}
		m.mu.Lock()
		m.crashed = true
		m.mu.Unlock()
	}
	if hit {
		m.crash()
	}
	return errCrashed
}

// hasCrashed reports whether the gateway has crashed.
func (m *crashingStore) hasCrashed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.crashed
}

func (m *crashingStore) Receive(ctx context.Context, request store.ReceiveRequest) (result store.ReceiveResult, err error) {
	err = m.write("Receive", func() (err error) { result, err = m.Store.Receive(ctx, request); return err })
	return result, err
}

func (m *crashingStore) Claim(ctx context.Context, c store.ClaimRequest) (claimed []store.Inbound, err error) {
	err = m.write("Claim", func() (err error) { claimed, err = m.Store.Claim(ctx, c); return err })
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

func (m *crashingStore) Finish(ctx context.Context, id int64, s store.State, o store.Outcome, with ...int64) (next bool, err error) {
	err = m.write("Finish", func() (err error) { next, err = m.Store.Finish(ctx, id, s, o, with...); return err })
	return next, err
}

func (m *crashingStore) Requeue(ctx context.Context, id int64, unbegun bool) error {
	return m.write("Requeue", func() error { return m.Store.Requeue(ctx, id, unbegun) })
}

// SetProcess ends the goroutine after a crash: a turn would not start a process any more.
func (m *crashingStore) SetProcess(id int64, p store.Process) error {
	err := m.write("SetProcess", func() error { return m.Store.SetProcess(id, p) })
	if errors.Is(err, errCrashed) && id != 0 {
		runtime.Goexit()
	}
	return err
}

func (m *crashingStore) AddTransient(ctx context.Context, transient store.Transient) error {
	return m.write("AddTransient", func() error { return m.Store.AddTransient(ctx, transient) })
}

func (m *crashingStore) DropTransient(ctx context.Context, transient store.Transient) error {
	return m.write("DropTransient", func() error { return m.Store.DropTransient(ctx, transient) })
}

func (m *crashingStore) ReplaceFold(ctx context.Context, inbound int64) error {
	return m.write("ReplaceFold", func() error { return m.Store.ReplaceFold(ctx, inbound) })
}

func (m *crashingStore) EndFold(ctx context.Context, board store.Transient) error {
	return m.write("EndFold", func() error { return m.Store.EndFold(ctx, board) })
}

func (m *crashingStore) Enqueue(ctx context.Context, outbound store.Outbound) (delivery store.Delivery, claimed bool, err error) {
	err = m.write("Enqueue", func() (err error) { delivery, claimed, err = m.Store.Enqueue(ctx, outbound); return err })
	return delivery, claimed, err
}

func (m *crashingStore) Settle(ctx context.Context, id int64, s store.Settlement) (more bool, err error) {
	err = m.write("Settle", func() (err error) { more, err = m.Store.Settle(ctx, id, s); return err })
	return more, err
}

func (m *crashingStore) Ask(ctx context.Context, q store.Question, outbound store.Outbound) error {
	return m.write("Ask", func() error { return m.Store.Ask(ctx, q, outbound) })
}

func (m *crashingStore) Withdraw(ctx context.Context, id string) (closed bool, err error) {
	err = m.write("Withdraw", func() (err error) { closed, err = m.Store.Withdraw(ctx, id); return err })
	return closed, err
}

func (m *crashingStore) SwapRecord(ctx context.Context, key, old, value string) (swapped bool, err error) {
	err = m.write("SwapRecord", func() (err error) { swapped, err = m.Store.SwapRecord(ctx, key, old, value); return err })
	return swapped && err == nil, err
}

func (m *crashingStore) SaveCopy(ctx context.Context, f *os.File, limit int64) (path string, err error) {
	err = m.write("Keep", func() (err error) { path, err = m.Store.SaveCopy(ctx, f, limit); return err })
	return path, err
}

// NextDelivery hands out nothing after a crash.
func (m *crashingStore) NextDelivery(ctx context.Context, chat channels.Chat, after int64) (delivery store.Delivery, ok bool, err error) {
	err = m.write("NextDelivery", func() (err error) { delivery, ok, err = m.Store.NextDelivery(ctx, chat, after); return err })
	return delivery, ok && err == nil, err
}

// startCrashing starts a gateway that crashes at a write; the zero value means never.
func (fx *fixture) startCrashing(at storeWrite) *crashingStore {
	fx.t.Helper()
	var m *crashingStore
	fx.wrapStore = func(s store.Store) store.Store {
		m = &crashingStore{Store: s, at: at, count: map[string]int{}, crash: func() { fx.crash(store.ErrUnusable) }}
		return m
	}
	fx.abandonAfter = 0
	if at.method != "" {
		fx.abandonAfter = 10 * time.Millisecond // a turn whose goroutine has ended
	}
	fx.start()
	return m
}

// awaitCrash waits until a gateway that has crashed is gone.
func (fx *fixture) awaitCrash() {
	fx.t.Helper()
	select {
	case <-fx.ended:
	case <-time.After(testTimeout):
		fx.t.Fatal("the gateway does not end")
	}
	fx.ended = nil
	fx.client.CloseIdleConnections()
	if err := fx.store.Close(); err != nil {
		fx.t.Errorf("close store: %v", err)
	}
}
