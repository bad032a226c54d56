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

// MaxReported is how many occurrences of a schedule are reported at most.
const MaxReported = 100

// Report returns the schedules of the store, and those of the operator that are not stored yet,
// with the last occurrences of each. stored may be nil.
func Report(ctx context.Context, stored store.Schedules, configured map[string]Configured, last int) ([]Status, error) {
	now := time.Now()
	var list []store.Schedule
	var err error
	if stored != nil {
		if list, err = stored.Schedules(ctx); err != nil {
			return nil, err
		}
	}
	for name, c := range configured {
		if !slices.ContainsFunc(list, func(s store.Schedule) bool { return s.Name == name }) {
			list = append(list, store.Schedule{Name: name, Spec: c.Spec.encode(), Accounted: now})
		}
	}
	slices.SortFunc(list, func(a, b store.Schedule) int { return strings.Compare(a.Name, b.Name) })
	all := []Status{}
	for _, s := range list {
		status, zone := Status{Name: s.Name, Occurrences: []PastOccurrence{}}, time.UTC
		if l := Describe(s, now); l.Plan != nil {
			status.Timezone, zone = l.Plan.Timezone, l.Plan.zone
			if !l.Next.IsZero() {
				status.Next = &l.Next
			}
		}
		var past []store.Occurrence
		if stored != nil {
			if past, err = stored.Occurrences(ctx, s.Name, last); err != nil {
				return nil, err
			}
		}
		for _, o := range past {
			status.Occurrences = append(status.Occurrences, PastOccurrence{o.Due.In(zone), o.Outcome, o.Reason})
		}
		all = append(all, status)
	}
	return all, nil
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
