package ledger_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/gateway/ledger"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// fakeUsage is a ledger with these sums, and records what it was asked for.
type fakeUsage struct {
	sums  []store.UsageSum
	by    store.UsageKey
	since time.Time
}

func (f *fakeUsage) SumUsage(_ context.Context, by store.UsageKey, filter store.UsageFilter) ([]store.UsageSum, error) {
	f.by, f.since = by, filter.Since
	return f.sums, nil
}

func TestARowHasTheFieldOfItsKey(t *testing.T) {
	sums := []store.UsageSum{{Key: "", Turns: 1}, {Key: "telegram:505", Turns: 2, Took: 1234567 * time.Microsecond, InputTokens: 3, OutputTokens: 4, Cost: 0.1 + 0.2}}
	rows := musttest.Get(ledger.Report(t.Context(), &fakeUsage{sums: sums}, ledger.Query{By: store.UsageByUser}))(t)
	wanttest.Equal(t, "JSON", string(musttest.Get(json.Marshal(rows))(t)),
		`[{"user":"","turns":1,"seconds":0,"input_tokens":0,"output_tokens":0,"cost":0},`+
			`{"user":"telegram:505","turns":2,"seconds":1.235,"input_tokens":3,"output_tokens":4,"cost":0.3}]`)
	wanttest.Equal(t, "for people", rows[0].Name()+" "+rows[1].Name(), "- telegram:505")
}

func TestUsageByDayIsThatOfATimeZone(t *testing.T) {
	zone := time.FixedZone("", 2*60*60)
	f := &fakeUsage{sums: []store.UsageSum{
		{Key: "2026-03-01T21:45:00Z", Turns: 1}, {Key: "2026-03-01T22:00:00Z", Turns: 2, Cost: 1}, {Key: "2026-03-02T21:45:00Z", Turns: 3, Cost: 2},
	}}
	rows := musttest.Get(ledger.Report(t.Context(), f, ledger.Query{By: ledger.Day, Zone: zone}))(t)
	wanttest.Equal(t, "JSON", string(musttest.Get(json.Marshal(rows))(t)),
		`[{"day":"2026-03-01","turns":1,"seconds":0,"input_tokens":0,"output_tokens":0,"cost":0},`+
			`{"day":"2026-03-02","turns":5,"seconds":0,"input_tokens":0,"output_tokens":0,"cost":3}]`)
	wanttest.Equal(t, "asked for", f.by, store.UsageByTime)
}

func TestTheBeginningOfTheReportedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*time.Hour + 7*time.Minute) // after the midnight before 2000-01-01
		for last, want := range map[time.Duration]string{
			time.Hour:      "2000-01-01T09:00:00Z",
			47 * time.Hour: "1999-12-30T11:00:00Z",
			48 * time.Hour: "1999-12-29T23:00:00Z", // days of the zone
		} {
			f := &fakeUsage{}
			musttest.Get(ledger.Report(t.Context(), f, ledger.Query{By: store.UsageByUser, Last: last, Zone: time.FixedZone("", 60*60)}))(t)
			wanttest.Equal(t, "since "+last.String(), f.since.UTC().Format(time.RFC3339), want)
		}
		f := &fakeUsage{}
		musttest.Get(ledger.Report(t.Context(), f, ledger.Query{By: store.UsageByUser}))(t)
		wanttest.Equal(t, "without it", f.since, time.Time{})
	})
}
