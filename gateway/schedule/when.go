package schedule

import (
	"strconv"
	"strings"
	"time"

	"nanobot/internal/lazyregexp"
)

// durationPattern matches a duration such as 20m, 1h30m or 2d.
var durationPattern = lazyregexp.New(`^(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,7})s)?$`)

// ParseDuration parses a duration such as 20m, 1h30m or 2d. It reports false for 0.
func ParseDuration(text string) (all time.Duration, ok bool) {
	parts := durationPattern().FindStringSubmatch(strings.ToLower(text))
	if parts == nil {
		return 0, false
	}
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.Atoi(parts[i+1]) // "" is 0
		all += time.Duration(n) * unit
	}
	return all, all > 0
}

// ParseTime parses a time as RFC 3339, or without an offset in a zone.
func ParseTime(text string, zone *time.Location) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, strings.TrimSpace(text), zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// ParseWhen returns the time that a person names: a duration from now, or the next time of day as
// HH:MM.
func ParseWhen(text string, now time.Time) (time.Time, bool) {
	if d, ok := ParseDuration(text); ok {
		return now.Add(d), true
	}
	clock, err := time.Parse("15:04", text)
	if err != nil {
		return time.Time{}, false
	}
	at := func(days int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+days, clock.Hour(), clock.Minute(), 0, 0, now.Location())
	}
	if today := at(0); today.After(now) {
		return today, true
	}
	return at(1), true
}
