// Package retry repeats an operation with exponential backoff. It knows nothing of what is
// repeated.
package retry

import (
	"context"
	"time"
)

const (
	// firstPause and longestPause bound the backoff of Until.
	firstPause, longestPause = 100 * time.Millisecond, 10 * time.Second
)

// Until calls try until it succeeds or ctx ends; it then returns the cause of that end. Each
// failure is passed to failed. try is called at least once, also with a context that has ended.
func Until(ctx context.Context, try func() error, failed func(error)) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := try()
		if err == nil {
			return nil
		}
		failed(err)
		if !Sleep(ctx, pause) {
			return context.Cause(ctx)
		}
	}
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
