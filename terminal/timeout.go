package terminal

import (
	"context"
	"time"

	"nanobot/terminal/process"
)

// limited is a context that ends when a turn's time is up, which is counted by a stopwatch.
type limited struct {
	context.Context //nolint:containedctx // limited is a context with another Deadline
	watch           *process.Stopwatch
}

// withTimeout is context.WithTimeoutCause with ErrTimeout, for time in which we were able to run:
// an agent that finishes while the daemon is stopped has not timed out. pause stops the time until
// the function that it returns is called.
func withTimeout(ctx context.Context, d time.Duration) (_ context.Context, pause func() (resume func()), _ context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	watch := process.NewStopwatch(d, func() { cancel(ErrTimeout) })
	return limited{inner, watch}, watch.Pause, func() {
		watch.Stop()
		cancel(context.Canceled)
	}
}

// Deadline is when the time would be up if we were never stopped.
func (l limited) Deadline() (time.Time, bool) {
	end := time.Now().Add(l.watch.Remaining())
	if earlier, ok := l.Context.Deadline(); ok && earlier.Before(end) {
		return earlier, true
	}
	return end, true
}
