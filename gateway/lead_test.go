package gateway_test

import (
	"context"
	"sync/atomic"
	"testing"

	"nanobot/gateway/store"
)

// adoptingStore is a store that has something to adopt, and whose Adopt after the first one ends
// only with its context.
type adoptingStore struct {
	store.Store
	draining, resigned atomic.Bool
	adopts             atomic.Int32
}

func (s *adoptingStore) Beat(ctx context.Context, lead bool) (store.Beat, error) {
	b, err := s.Store.Beat(ctx, lead)
	b.Adoptable, b.Draining, b.Leader = true, s.draining.Load(), lead
	if !lead {
		s.resigned.Store(true)
	}
	return b, err
}

func (s *adoptingStore) Adopt(ctx context.Context) (store.Adopted, error) {
	if s.adopts.Add(1) > 1 {
		<-ctx.Done()
		return store.Adopted{}, ctx.Err()
	}
	return s.Store.Adopt(ctx)
}

func TestAMemberThatAdoptsCanBeDrained(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "cat")
	var adopting *adoptingStore
	fx.wrapStore = func(s store.Store) store.Store {
		adopting = &adoptingStore{Store: s}
		return adopting
	}
	fx.start()
	fx.awaitTrue("the second adoption", func() bool { return adopting.adopts.Load() > 1 })
	if fx.gw.Standby() {
		t.Error("the leader is a standby")
	}
	adopting.draining.Store(true)
	fx.awaitTrue("the end of the leadership", adopting.resigned.Load)
	if !fx.gw.Standby() {
		t.Error("a drained member serves requests")
	}
}
