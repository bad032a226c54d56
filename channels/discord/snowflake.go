package discord

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// snowflake is an ID of Discord. Its high bits are its creation time, so IDs of all kinds sort by
// time. 0 means none.
type snowflake uint64

const (
	// epoch is Discord's epoch, 2015-01-01, in Unix milliseconds.
	epoch = 1420070400000
	// timeShift is the position of the timestamp in an ID.
	timeShift = 22
)

// parseSnowflake returns 0 for text that is not an ID.
func parseSnowflake(text string) snowflake {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return snowflake(n)
}

// snowflakeAt returns the lowest ID that Discord would create at a time.
func snowflakeAt(t time.Time) snowflake { return snowflake(max(t.UnixMilli()-epoch, 0)) << timeShift }

// minus returns the ID that Discord would have created a duration earlier.
func (f snowflake) minus(d time.Duration) snowflake {
	earlier := snowflake(d.Milliseconds()) << timeShift
	if earlier > f {
		return 0
	}
	return f - earlier
}

func (f snowflake) String() string { return strconv.FormatUint(uint64(f), 10) }

// MarshalJSON writes an ID as a string, as Discord does.
func (f snowflake) MarshalJSON() ([]byte, error) { return []byte(`"` + f.String() + `"`), nil }

// UnmarshalJSON reads an ID. Null and "" mean none.
func (f *snowflake) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	*f = 0
	if text == "null" || text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%.30q is no id", text)
	}
	*f = snowflake(n)
	return nil
}
