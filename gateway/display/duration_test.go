package display_test

import (
	"testing"
	"time"

	"nanobot/gateway/display"
)

func TestDurationsAreShortAndRoundedDown(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:                     "0 s",
		900 * time.Millisecond:           "0 s",
		41*time.Second + 999*1000*1000:   "41 s",
		time.Minute:                      "1 min",
		3*time.Minute + 59*time.Second:   "3 min",
		time.Hour:                        "1 h",
		2*time.Hour + 5*time.Minute + 59: "2 h 5 min",
	} {
		if got := display.Duration(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
