package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/gateway/retry"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestUntilTriesAgainWithLongerPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		broken := errors.New("broken")
		failures := 0
		musttest.Do(t, retry.Until(t.Context(), func() error {
			if at = append(at, time.Since(began)); len(at) < 4 {
				return broken
			}
			return nil
		}, func(err error) {
			if !errors.Is(err, broken) {
				t.Errorf("failed was told %v", err)
			}
			failures++
		}))
		want := []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond}
		for i := range want {
			if at[i] != want[i] {
				t.Errorf("tried at %v, want %v", at, want)
			}
		}
		wanttest.Equal(t, "failed was told … times:", failures, 3)
	})
}

func TestUntilEndsWithItsContextButTriesOnce(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("told to end")
	cancel(why)
	tries := 0
	err := retry.Until(ctx, func() error { tries++; return errors.New("broken") }, func(error) {})
	if !errors.Is(err, why) || tries != 1 {
		t.Errorf("Until returned %v after %d tries, want the cause after one", err, tries)
	}
}

func TestSleepReportsWhetherTheTimeHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if !retry.Sleep(t.Context(), time.Hour) {
			t.Error("the time has not passed")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if retry.Sleep(ctx, time.Hour) {
			t.Error("the time has passed though the context ended first")
		}
	})
}
