package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// useTestClock shifts the clock as a test that has started this process says.
func useTestClock() {
	by, err := time.ParseDuration(os.Getenv("TEST_CLOCK"))
	if err != nil || by == 0 {
		return
	}
	if err := shiftClock(by); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		fmt.Fprintln(os.Stderr, "the clock stays:", err)
	}
}

func TestTheClockOfAMemberCanBeWrong(t *testing.T) {
	killtest.SkipIfShort(t)
	if err := shiftClock(0); err != nil {
		t.Skip(err)
	}
	for _, by := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		cmd := exec.Command(os.Args[0], "version")
		cmd.Env = append(environWithoutTestSettings(), "TEST_CLOCK_SHOWN=1", "TEST_CLOCK="+by.String())
		out := strings.TrimSpace(string(musttest.Get(cmd.Output())(t)))
		shown := musttest.Get(time.Parse(time.RFC3339, out))(t)
		if off := shown.Sub(time.Now().Add(by)).Abs(); off > 5*time.Minute {
			t.Errorf("with an offset of %s the clock shows %s", by, shown)
		}
	}
}
