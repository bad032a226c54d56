package beat_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/gateway/beat"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
)

// leasing is a store whose beats renew a lease.
type leasing struct{ lease time.Duration }

func (l leasing) Beat(context.Context, bool) (store.Beat, error) {
	return store.Beat{Lease: l.lease}, nil
}

func (leasing) Hints() <-chan struct{} { return nil }

func TestALeaseEndsBeforeOthersAdopt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &beat.Lease{Store: leasing{3 * time.Second}}
		musttest.Do(t, l.Check()) // before the first beat
		for range 2 {
			_ = musttest.Get(l.Beat(t.Context(), true))(t)
			time.Sleep(1900 * time.Millisecond)
			musttest.Do(t, l.Check())
		}
		time.Sleep(200 * time.Millisecond)
		if err := l.Check(); !errors.Is(err, beat.ErrLost) {
			t.Errorf("after two thirds of the lease: %v", err)
		}
		alone := &beat.Lease{Store: leasing{}}
		_ = musttest.Get(alone.Beat(t.Context(), true))(t)
		time.Sleep(time.Hour)
		musttest.Do(t, alone.Check())
	})
}
