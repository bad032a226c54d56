package runbook

import (
	"context"
	"fmt"
	"time"
)

// PruneAgentRuns removes the runs that agents began and nobody has worked on for so long. An agent
// can begin many, and nobody else knows of them. The runs of people stay.
func (s Runs) PruneAgentRuns(ctx context.Context, age time.Duration) error {
	values, err := s.Records.ListRecords(ctx, runPrefix)
	if err != nil {
		return fmt.Errorf("list runs: %w", err)
	}
	now := s.env().Now
	for key, value := range values {
		r, err := DecodeRun(value)
		if err != nil || r.By != ByAgent || now.Sub(r.lastUsed()) < age {
			continue
		}
		if _, err := s.Records.SwapRecord(ctx, key, value, ""); err != nil {
			return fmt.Errorf("remove run %s: %w", r.ID, err)
		}
	}
	return nil
}

// lastUsed is a time since which nothing has happened in a run, but for failed attempts.
func (r Run) lastUsed() time.Time {
	last := r.Began
	for _, t := range []time.Time{r.Ended, r.Issued.Expires.Add(-nonceLife)} { // zero times are before all
		if t.After(last) {
			last = t
		}
	}
	return last
}
