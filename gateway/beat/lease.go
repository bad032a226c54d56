package beat

import (
	"context"
	"sync/atomic"
	"time"

	"nanobot/gateway/store"
)

// Lease is a Store that knows how long this member may work.
type Lease struct {
	Store
	end atomic.Pointer[time.Time] // nil: it never ends
}

// Beat renews the lease.
func (l *Lease) Beat(ctx context.Context, lead bool) (store.Beat, error) {
	began := time.Now()
	b, err := l.Store.Beat(ctx, lead)
	if err == nil && b.Lease > 0 {
		l.end.Store(new(usableUntil(began, b.Lease)))
	}
	return b, err
}

// Check returns ErrLost when other members may soon adopt the work of this one. A process that was
// suspended can so find out before Run does.
func (l *Lease) Check() error {
	if end := l.end.Load(); end != nil && time.Now().After(*end) {
		return ErrLost
	}
	return nil
}

// usableUntil returns until when a member may work with a lease.
func usableUntil(began time.Time, lease time.Duration) time.Time { return began.Add(lease * 2 / 3) }
