package remote

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"
)

// Trouble waits between tries, longer each time, and logs when the error changes.
type Trouble struct {
	log   *zap.Logger
	what  string
	asks  func(error) time.Duration
	last  string
	pause *backoff.ExponentialBackOff
}

// NewTrouble returns one that says what is wrong and first waits for about the given time, but as
// long as an error asks for.
func NewTrouble(log *zap.Logger, what string, first time.Duration, asks func(error) time.Duration) *Trouble {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = first, 60*first
	return &Trouble{log: log, what: what, asks: asks, pause: pause}
}

// Next is how long to wait before the next try.
func (t *Trouble) Next(err error) time.Duration {
	d := max(t.pause.NextBackOff(), t.asks(err))
	if err.Error() != t.last {
		t.last = err.Error()
		t.log.Warn(t.what, zap.Duration("after", d), zap.Error(err))
	}
	return d
}

// Wait waits and reports whether to try again.
func (t *Trouble) Wait(ctx context.Context, err error) bool {
	return ctx.Err() == nil && Sleep(ctx, t.Next(err))
}

// Over is called when a try has succeeded.
func (t *Trouble) Over() {
	t.last = ""
	t.pause.Reset()
}

// Sleep waits and reports whether the time has passed before ctx ended.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
