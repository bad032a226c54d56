package beat_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zaptest"

	"nanobot/gateway/beat"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// member is a store whose beats are functions of the test.
type member struct {
	beat  func(ctx context.Context, lead bool) (store.Beat, error)
	hints chan struct{}
}

func (m member) Beat(ctx context.Context, lead bool) (store.Beat, error) { return m.beat(ctx, lead) }

func (m member) Hints() <-chan struct{} { return m.hints }

const lease = 12 * time.Second

// good is a beat that succeeded.
func good() store.Beat { return store.Beat{Lease: lease, Next: lease / 4} }

func always() bool { return true }

func TestAMemberIsLostTwoThirdsOfALeaseAfterItsLastBeat(t *testing.T) {
	for name, broken := range map[string]func(ctx context.Context) error{
		"its beats fail":         func(context.Context) error { return errors.New("broken") },
		"its beats never return": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, beats := time.Now(), 0
				m := member{beat: func(ctx context.Context, _ bool) (store.Beat, error) {
					if beats++; beats > 3 {
						return store.Beat{}, broken(ctx)
					}
					time.Sleep(time.Second) // the lease lasts from the call
					return good(), nil
				}}
				err := beat.Run(t.Context(), m, always, zaptest.NewLogger(t))
				wanttest.Equal(t, "the error", err, beat.ErrLost)
				wanttest.Equal(t, "when it was lost", time.Since(began), 2*(time.Second+lease/4)+lease*2/3)
			})
		})
	}
}

func TestAFencedMemberIsLostAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		m := member{beat: func(context.Context, bool) (store.Beat, error) {
			if time.Since(began) > 0 {
				return store.Beat{}, store.ErrFenced
			}
			return good(), nil
		}}
		wanttest.Equal(t, "the error", beat.Run(t.Context(), m, always, zaptest.NewLogger(t)), beat.ErrLost)
		wanttest.Equal(t, "when it was lost", time.Since(began), lease/4)
	})
}

func TestALeaseThatIsRenewedInTimeIsNeverLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		beats := 0
		m := member{beat: func(context.Context, bool) (store.Beat, error) {
			if beats++; beats == 100 {
				stop()
			}
			if beats%3 == 0 {
				return store.Beat{}, errors.New("broken")
			}
			return good(), nil
		}}
		musttest.Do(t, beat.Run(ctx, m, always, zaptest.NewLogger(t)))
		wanttest.Equal(t, "beats", beats, 100)
	})
}

func TestAMemberWithoutALeaseIsNeverLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 24*time.Hour)
		defer stop()
		first := true
		m := member{beat: func(context.Context, bool) (store.Beat, error) {
			if !first {
				return store.Beat{}, errors.New("broken")
			}
			first = false
			return store.Beat{Next: time.Second}, nil
		}}
		musttest.Do(t, beat.Run(ctx, m, always, zaptest.NewLogger(t)))
	})
}

func TestListenersGetTheLatestBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var ready atomic.Bool
		m := member{hints: make(chan struct{}), beat: func(_ context.Context, lead bool) (store.Beat, error) {
			b := good()
			b.Leader = lead
			return b, nil
		}}
		quick, busy := beat.NewListener(), beat.NewListener()
		ended := make(chan error)
		go func() { ended <- beat.Run(ctx, m, ready.Load, zaptest.NewLogger(t), quick, busy) }()
		wanttest.Equal(t, "the first beat", (<-quick).Leader, false)
		ready.Store(true)
		began := time.Now()
		m.hints <- struct{}{} // it beats at once
		wanttest.Equal(t, "the second beat", (<-quick).Leader, true)
		wanttest.Equal(t, "the time until then", time.Since(began), 0)
		wanttest.Equal(t, "the beat for one that was busy", (<-busy).Leader, true)
		wanttest.Equal(t, "how many it gets", len(busy), 0)
		stop()
		musttest.Do(t, <-ended)
	})
}
