package musttest_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"nanobot/internal/musttest"
)

// recorder is a test that records how it ended.
type recorder struct {
	testing.TB
	failure string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatal(args ...any) {
	r.failure = fmt.Sprint(args...)
	runtime.Goexit()
}

// failureOf returns how a test fails, or "".
func failureOf(test func(t testing.TB)) string {
	r := &recorder{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		test(r)
	}()
	<-ended
	return r.failure
}

func TestOnlyASuccessfulCallContinuesTheTest(t *testing.T) {
	broken := errors.New("it broke")
	for name, c := range map[string]struct {
		err  error
		want string
	}{"success": {nil, "continued"}, "failure": {broken, "it broke"}} {
		if got := failureOf(func(t testing.TB) { musttest.Do(t, c.err); t.Fatal("continued") }); got != c.want {
			t.Errorf("Do after a %s: %q", name, got)
		}
		if got := failureOf(func(t testing.TB) { musttest.Get(1, c.err)(t); t.Fatal("continued") }); got != c.want {
			t.Errorf("Get after a %s: %q", name, got)
		}
	}
	if got := musttest.Get("result", nil)(t); got != "result" {
		t.Errorf("got %q", got)
	}
}
