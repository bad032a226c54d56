package httpclient

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"
)

// Retrier waits between attempts with exponential backoff, and logs when the error changes.
type Retrier struct {
	log       *zap.Logger
	message   string // logged with each new error
	lastError string
	backoff   *backoff.ExponentialBackOff
}

// FirstDelay is how long a Retrier mostly waits first.
const FirstDelay = time.Second / 2

// NewRetrier returns a Retrier that logs a message and first waits for about the given time, but at
// least as long as an error demands.
func NewRetrier(log *zap.Logger, message string, first time.Duration) *Retrier {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = first, 60*first
	return &Retrier{log: log, message: message, backoff: b}
}

// Next returns how long to wait before the next attempt.
func (r *Retrier) Next(err error) time.Duration {
	d := max(r.backoff.NextBackOff(), RetryAfter(err))
	if err.Error() != r.lastError {
		r.lastError = err.Error()
		r.log.Warn(r.message, zap.Duration("after", d), zap.Error(err))
	}
	return d
}

// Wait waits, and reports whether the context still allows another attempt.
func (r *Retrier) Wait(ctx context.Context, err error) bool {
	return ctx.Err() == nil && Sleep(ctx, r.Next(err))
}

// Do repeats an attempt until it succeeds, is refused permanently, or ctx ends. It returns the last
// error.
func (r *Retrier) Do(ctx context.Context, attempt func() error) error {
	for {
		err := attempt()
		if err == nil || NewSendError(err).Permanent || !r.Wait(ctx, err) {
			return err
		}
	}
}

// Reset is called after an attempt has succeeded.
func (r *Retrier) Reset() {
	r.lastError = ""
	r.backoff.Reset()
}

// Sleep waits, and reports whether the time passed before ctx ended.
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
