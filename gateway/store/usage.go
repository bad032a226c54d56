package store

import (
	"context"
	"time"
)

const (
	// UsageStep is the width of the intervals in which turns are summed. The offset of every time
	// zone is a multiple of it.
	UsageStep = 15 * time.Minute
	// UsageDetail is the age at which Prune merges the intervals of a day into one.
	UsageDetail = 48 * time.Hour
)

// TurnUsage is what a turn has used.
type TurnUsage struct {
	Took time.Duration // without the time in which it waited for people
	// Models are what the agent has reported, once for each model. The turn counts for the first of
	// them; without one, for the model "".
	Models []ModelUsage
}

// ModelUsage is the use of a model.
type ModelUsage struct {
	Model                     string // "": unknown
	InputTokens, OutputTokens int64
	Cost                      float64 // in US dollars
}

// UsageKey is what usage is summed by.
type UsageKey string

// The keys of usage. A user is channel:ID, or "" for turns whose message nobody has typed. A time
// is the beginning of an interval, which is UsageStep or a day long, as RFC 3339 in UTC.
const (
	UsageByUser  UsageKey = "user"
	UsageByChat  UsageKey = "chat"
	UsageByAgent UsageKey = "agent"
	UsageByModel UsageKey = "model"
	UsageByTime  UsageKey = "time"
)

// UsageFilter selects usage.
type UsageFilter struct {
	Since time.Time // only intervals that begin then or later
	User  string    // only that of this user; "": of all
}

// UsageSum is the usage of all turns with a key.
type UsageSum struct {
	Key                       string
	Turns                     int64
	Took                      time.Duration
	InputTokens, OutputTokens int64
	Cost                      float64 // in US dollars
}

// Add adds another sum.
func (s *UsageSum) Add(other UsageSum) {
	s.Turns += other.Turns
	s.Took += other.Took
	s.InputTokens += other.InputTokens
	s.OutputTokens += other.OutputTokens
	s.Cost += other.Cost
}

// Usage is the ledger of what turns have used. Finish writes it.
type Usage interface {
	// SumUsage sums usage by a key, in the order of the keys.
	SumUsage(ctx context.Context, by UsageKey, f UsageFilter) ([]UsageSum, error)
}

// StartOfDay returns when the day of a time begins in a zone; nil: UTC.
func StartOfDay(t time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	year, month, day := t.In(zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, zone)
}
