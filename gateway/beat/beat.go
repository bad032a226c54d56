// Package beat renews the lease of this member of the store, and passes on what the store says.
package beat

import (
	"context"
	"errors"
	"math"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

// Store is the part of the store that Run uses.
type Store interface {
	Beat(ctx context.Context, lead bool) (store.Beat, error)
	Hints() <-chan struct{}
}

// Listener receives beats. One that is busy gets the latest beat when it is ready.
type Listener chan store.Beat

// NewListener returns a Listener for one goroutine.
func NewListener() Listener { return make(Listener, 1) }

// ErrLost says that the lease of this member has ended, or is about to end: other members adopt its
// work, so it must end its agents and itself.
var ErrLost = errors.New("the lease of this member could not be renewed")

// retryAfter is the time after which a beat that failed is repeated.
const retryAfter = time.Second

// Run calls Store.Beat until ctx ends, and passes each beat to the listeners, which do not delay
// it. lead says whether this member is ready to be the leader. Run returns ErrLost when the lease
// could not be renewed for two thirds of its time, and nil when ctx ends.
func Run(ctx context.Context, s Store, lead func() bool, log *zap.Logger, listeners ...Listener) error {
	alive, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	end := time.AfterFunc(math.MaxInt64, func() { lose(ErrLost) })
	defer end.Stop()
	for {
		began := time.Now()
		b, err := s.Beat(alive, lead())
		switch {
		case errors.Is(err, store.ErrFenced):
			return ErrLost
		case err == nil && b.Lease > 0:
			end.Reset(time.Until(usableUntil(began, b.Lease)))
		case err != nil:
			b.Next = retryAfter
		}
		if err == nil {
			for _, l := range listeners {
				l.offer(b)
			}
		} else if alive.Err() == nil {
			log.Error("cannot renew the lease and read what there is to do, will retry", zap.Error(err))
		}
		if !retry.SleepUnless(alive, b.Next, s.Hints()) {
			if ctx.Err() == nil {
				return ErrLost
			}
			return nil
		}
	}
}

// offer replaces the beat that the listener has not received yet. Only Run calls it.
func (l Listener) offer(b store.Beat) {
	select {
	case <-l:
	default:
	}
	l <- b
}
