// Package retry repeats operations with exponential backoff. It does not know the operations.
package retry

import (
	"context"
	"time"
)

const (
	// firstPause and maxPause bound the backoff of Until.
	firstPause, maxPause = 100 * time.Millisecond, 10 * time.Second
)

// Until calls try until it succeeds, and returns nil, or until ctx ends, and returns its cause.
// Each error is passed to failed. try is called at least once, even if ctx has ended.
func Until(ctx context.Context, try func() error, failed func(error)) error {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
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

// Sleep waits for d. It reports false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool { return SleepUnless(ctx, d, nil) }

// SleepUnless waits for d, or until wake has a value. It reports false if ctx ends first.
func SleepUnless(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-wake:
		return true
	case <-ctx.Done():
		return false
	}
}
