package terminal

import (
	"context"
	"time"

	"nanobot/terminal/process"
)

// stopwatchContext is a context that ends when a Stopwatch has counted the turn's timeout.
type stopwatchContext struct {
	context.Context //nolint:containedctx // it is a context with another Deadline
	watch           *process.Stopwatch
}

// withTimeout is context.WithTimeoutCause with ErrTimeout, except that it only counts time in which
// this program could run: an agent that finishes while the daemon is stopped has not timed out.
// pause stops the time until resume is called.
func withTimeout(ctx context.Context, d time.Duration) (_ context.Context, pause func() (resume func()), _ context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	watch := process.NewStopwatch(d, func() { cancel(ErrTimeout) })
	return stopwatchContext{inner, watch}, watch.Pause, func() {
		watch.Stop()
		cancel(context.Canceled)
	}
}

// Deadline returns the end of the remaining time, assuming no pause.
func (c stopwatchContext) Deadline() (time.Time, bool) {
	end := time.Now().Add(c.watch.Remaining())
	if earlier, ok := c.Context.Deadline(); ok && earlier.Before(end) {
		return earlier, true
	}
	return end, true
}
