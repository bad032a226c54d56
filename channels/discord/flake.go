package discord

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// flake is one of Discord's ids. It begins with the time at which it was given out, so that ids of
// all kinds are in the order of time. 0 is none.
type flake uint64

const (
	// epoch is when Discord's time begins, in milliseconds.
	epoch = 1420070400000
	// timeShift is where in an id its milliseconds begin.
	timeShift = 22
)

// parseFlake reads an id. What is none is 0.
func parseFlake(text string) flake {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return flake(n)
}

// flakeAt is the id that would be given out at a time.
func flakeAt(t time.Time) flake { return flake(max(t.UnixMilli()-epoch, 0)) << timeShift }

// back is the id that would have been given out some time before this one.
func (f flake) back(d time.Duration) flake {
	earlier := flake(d.Milliseconds()) << timeShift
	if earlier > f {
		return 0
	}
	return f - earlier
}

func (f flake) String() string { return strconv.FormatUint(uint64(f), 10) }

// MarshalJSON writes an id as Discord does, as a string.
func (f flake) MarshalJSON() ([]byte, error) { return []byte(`"` + f.String() + `"`), nil }

// UnmarshalJSON reads an id, which may be missing.
func (f *flake) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	*f = 0
	if text == "null" || text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%.30q is no id", text)
	}
	*f = flake(n)
	return nil
}
