// Package ledger reports what turns have used, for commands and the console. The store has the
// numbers.
package ledger

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"nanobot/gateway/store"
)

// Day is the key of usage by day. The store knows shorter intervals.
const Day store.UsageKey = "day"

// Keys are what usage can be reported by. The first is the usual one.
var Keys = []store.UsageKey{
	store.UsageByUser, store.UsageByChat, store.UsageByAgent, store.UsageByModel, Day,
}

// ParseKey returns the key with a name; "" is the usual one.
func ParseKey(name string) (store.UsageKey, error) {
	if name == "" {
		return Keys[0], nil
	}
	if i := slices.Index(Keys, store.UsageKey(name)); i >= 0 {
		return Keys[i], nil
	}
	return "", fmt.Errorf("must be one of %s", strings.Trim(fmt.Sprint(Keys), "[]"))
}

// Query says what is reported.
type Query struct {
	By   store.UsageKey
	Last time.Duration  // only turns that have ended within this time; 0: all
	Zone *time.Location // of the days
}

// Row is the usage of one user, chat, agent, model or day. The field of the key is set.
type Row struct {
	User         *string `json:"user,omitempty"` // channel:ID; "": nobody has typed the message
	Chat         *string `json:"chat,omitempty"`
	Agent        *string `json:"agent,omitempty"`
	Model        *string `json:"model,omitempty"` // "": unknown
	Day          *string `json:"day,omitempty"`   // such as 2026-03-01
	Turns        int64   `json:"turns"`
	Seconds      float64 `json:"seconds"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	Cost         float64 `json:"cost"` // in US dollars
}

// Report returns usage, in the order of the keys. s may be nil: nothing was used.
func Report(ctx context.Context, s store.Usage, q Query) ([]Row, error) {
	rows := []Row{}
	if s == nil {
		return rows, nil
	}
	by := q.By
	if by == Day {
		by = store.UsageByTime
	}
	sums, err := s.SumUsage(ctx, by, store.UsageFilter{Since: since(time.Now(), q)})
	if err != nil {
		return nil, err
	}
	if q.By == Day {
		sums = sumDays(sums, q.Zone)
	}
	for _, sum := range sums {
		rows = append(rows, newRow(q.By, sum))
	}
	return rows, nil
}

// since returns the beginning of the intervals that are reported. Old intervals are days.
func since(now time.Time, q Query) time.Time {
	switch {
	case q.Last <= 0:
		return time.Time{}
	case q.Last >= store.UsageDetail:
		return store.StartOfDay(now.Add(-q.Last), q.Zone)
	}
	return now.Add(-q.Last).Truncate(store.UsageStep)
}

// sumDays sums intervals by day.
func sumDays(sums []store.UsageSum, zone *time.Location) (days []store.UsageSum) {
	for _, s := range sums {
		at, err := time.Parse(time.RFC3339, s.Key)
		if err != nil {
			continue // the contract has this form
		}
		s.Key = store.StartOfDay(at, zone).Format(time.DateOnly)
		if last := len(days) - 1; last >= 0 && days[last].Key == s.Key {
			days[last].Add(s)
		} else {
			days = append(days, s)
		}
	}
	return days
}

func newRow(by store.UsageKey, s store.UsageSum) Row {
	r := Row{
		Turns: s.Turns, Seconds: round(s.Took.Seconds(), 1e3), InputTokens: s.InputTokens, OutputTokens: s.OutputTokens,
		Cost: round(s.Cost, 1e9), // 0.1 and 0.2 are 0.3
	}
	*map[store.UsageKey]**string{
		store.UsageByUser: &r.User, store.UsageByChat: &r.Chat, store.UsageByAgent: &r.Agent, store.UsageByModel: &r.Model,
		Day: &r.Day,
	}[by] = &s.Key
	return r
}

func round(x, unit float64) float64 { return math.Round(x*unit) / unit }

// Name returns what the row is about, for people.
func (r Row) Name() string {
	for _, name := range []*string{r.User, r.Chat, r.Agent, r.Model, r.Day} {
		if name != nil && *name != "" {
			return *name
		}
	}
	return "-"
}

// FormatCost returns dollars for people; "": nothing.
func FormatCost(dollars float64) string {
	const smallest = 0.005 // that is more than 0.00
	switch {
	case dollars <= 0:
		return ""
	case dollars < smallest:
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", dollars)
}
