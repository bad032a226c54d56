package pausetest_test

import (
	"errors"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"nanobot/internal/pausetest"
)

type recorder struct {
	testing.TB
	failed bool
}

func (*recorder) Helper()             {}
func (*recorder) Logf(string, ...any) {}
func (r *recorder) Fatalf(string, ...any) {
	r.failed = true
	runtime.Goexit()
}

// try reports how many attempts there were, and whether the test failed.
func try(tolerance time.Duration, attempt func(n int) error) (attempts int, failed bool) {
	r, done := &recorder{}, make(chan struct{})
	go func() {
		defer close(done)
		pausetest.Try(r, tolerance, func() error {
			attempts++
			return attempt(attempts)
		})
	}()
	<-done
	return attempts, r.failed
}

// pause stops this process for a while.
func pause() error {
	return exec.Command("sh", "-c", "kill -STOP $PPID && sleep 0.3; kill -CONT $PPID").Run()
}

func TestAnAttemptIsRepeatedOnlyAfterAPause(t *testing.T) {
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		tolerance time.Duration
		attempt   func(n int) error
		attempts  int
		failed    bool
	}{
		"good":                 {time.Hour, func(int) error { return nil }, 1, false},
		"good after a pause":   {0, func(int) error { return pause() }, 1, false},
		"bad":                  {time.Hour, func(int) error { return bad }, 1, true},
		"bad after each pause": {0, func(int) error { return errors.Join(pause(), bad) }, 10, true},
		"bad after the first pause": {200 * time.Millisecond, func(n int) error {
			if n == 1 {
				return errors.Join(pause(), bad)
			}
			return nil
		}, 2, false},
	} {
		attempts, failed := try(c.tolerance, c.attempt)
		if attempts != c.attempts || failed != c.failed {
			t.Errorf("%s: %d attempts, failed %t", name, attempts, failed)
		}
	}
}
