package schedule_test

import (
	"strings"
	"testing"
	"time"

	"nanobot/gateway/schedule"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestExpressionsAreUnderstoodInTheirZone(t *testing.T) {
	from := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		cron, zone string
		want       string
	}{
		{"30 9 * * MON-FRI", berlin, "2026-03-30T09:30:00+02:00 2026-03-31T09:30:00+02:00 2026-04-01T09:30:00+02:00"},
		{"15 30 9 * * *", newYork, "2026-03-28T09:30:15-04:00 2026-03-29T09:30:15-04:00 2026-03-30T09:30:15-04:00"},
		{"@monthly", "Asia/Kathmandu", "2026-04-01T00:00:00+05:45 2026-05-01T00:00:00+05:45 2026-06-01T00:00:00+05:45"},
		{" 0 0 29 2 * ", "UTC", "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z 2036-02-29T00:00:00Z"},
		{"30 2 * * *", berlin, "2026-03-30T02:30:00+02:00 2026-03-31T02:30:00+02:00 2026-04-01T02:30:00+02:00"},
		// Clocks are set back by half an hour on Lord Howe Island: 1:45 comes twice.
		{"45 1 5 4 *", "Australia/Lord_Howe", "2026-04-05T01:45:00+11:00 2027-04-05T01:45:00+10:30 2028-04-05T01:45:00+10:30"},
	} {
		plan, mistakes := schedule.Parse(schedule.Spec{Cron: c.cron, Timezone: c.zone, Text: "x"})
		if len(mistakes) > 0 {
			t.Errorf("%s: %v", c.cron, mistakes)
			continue
		}
		var got []string
		for _, next := range plan.Next(from, 3) {
			got = append(got, next.Format(time.RFC3339))
		}
		wanttest.Equal(t, c.cron, strings.Join(got, " "), c.want)
	}
}

func TestADayThatAZoneLeftOutIsSkipped(t *testing.T) {
	in(t, "Pacific/Apia", "2011-12-29 08:00:00", func(f *fixture) { // Samoa had no 30 December
		f.start(map[string]schedule.Spec{"daily": {Cron: "0 9 * * *", Timezone: "Pacific/Apia"}})
		f.until("Pacific/Apia", "2011-12-31 10:00:00")
		f.want("daily", "2011-12-29 09:00:00 ran", "2011-12-30 09:00:00 skipped this local time does not exist…", "2011-12-31 09:00:00 ran")
	})
}

func TestTheSystemsZoneIsTheDefault(t *testing.T) {
	for variable, want := range map[string]string{"Asia/Tokyo": "Asia/Tokyo", ":Europe/Paris": "Europe/Paris", "": "UTC"} {
		t.Setenv("TZ", variable)
		wanttest.Equal(t, "TZ="+variable, musttest.Get(schedule.LoadZone(""))(t).String(), want)
	}
}
