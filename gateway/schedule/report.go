package schedule

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"nanobot/gateway/store"
)

// Status is a schedule with its next and its last occurrences, for operators. All times are in its
// time zone.
type Status struct {
	Name        string           `json:"name"`
	Next        *time.Time       `json:"next"` // null: none
	Timezone    string           `json:"timezone"`
	Occurrences []PastOccurrence `json:"occurrences"` // newest first
}

// PastOccurrence is an occurrence that is accounted for.
type PastOccurrence struct {
	Due     time.Time               `json:"due"`
	Outcome store.OccurrenceOutcome `json:"outcome"`
	Reason  string                  `json:"reason"`
}

// reportedOccurrences is how many occurrences of a schedule are reported.
const reportedOccurrences = 100

// Report returns the schedules of the store, and those of the operator that are not stored yet.
// stored may be nil.
func Report(ctx context.Context, stored store.Schedules, configured map[string]Configured, now time.Time) (
	[]Status, error,
) {
	all := []Status{}
	known := map[string]bool{}
	if stored != nil {
		list, err := stored.Schedules(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			status := newStatus(s, now)
			if err := status.addOccurrences(ctx, stored); err != nil {
				return nil, err
			}
			all, known[s.Name] = append(all, status), true
		}
	}
	for name, c := range configured {
		if !known[name] {
			all = append(all, newStatus(store.Schedule{Name: name, Spec: c.Spec.encode(), Accounted: now}, now))
		}
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func newStatus(s store.Schedule, now time.Time) Status {
	status := Status{Name: s.Name, Occurrences: []PastOccurrence{}}
	if l := Describe(s, now); l.Plan != nil {
		if status.Timezone = l.Plan.Timezone; !l.Next.IsZero() {
			status.Next = &l.Next
		}
	}
	return status
}

func (s *Status) addOccurrences(ctx context.Context, stored store.Schedules) error {
	past, err := stored.Occurrences(ctx, s.Name, reportedOccurrences)
	zone, zoneErr := LoadZone(s.Timezone)
	if zoneErr != nil {
		zone = time.UTC
	}
	for _, o := range past {
		s.Occurrences = append(s.Occurrences, PastOccurrence{o.Due.In(zone), o.Outcome, o.Reason})
	}
	return err
}

// String returns the status as one line of columns that are separated by tabs.
func (s Status) String() string {
	next, last := "never again", "none"
	if s.Next != nil {
		next = s.Next.Format(time.RFC3339)
	}
	if len(s.Occurrences) > 0 {
		o := s.Occurrences[0]
		last = o.Due.Format(time.RFC3339) + " " + string(o.Outcome)
		if o.Reason != "" {
			last += " (" + o.Reason + ")"
		}
	}
	return strings.Join([]string{s.Name, next, cmp.Or(s.Timezone, "-"), last}, "\t")
}
