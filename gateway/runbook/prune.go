package runbook

import (
	"context"
	"fmt"
	"time"
)

// Prune removes runs that are unused for the age of runs of agents, or of people; 0: none. An agent
// can start many of them, and nobody else knows of them.
func (rs Runs) Prune(ctx context.Context, ofAgents, ofPeople time.Duration) error {
	values, err := rs.Records.ListRecords(ctx, runPrefix)
	if err != nil {
		return fmt.Errorf("list runs: %w", err)
	}
	now := rs.env().Now
	for key, value := range values {
		r, err := DecodeRun(value)
		age := ofPeople
		if r.By == ByAgent {
			age = ofAgents
		}
		if err != nil || age == 0 || now.Sub(r.lastUsed()) < age {
			continue
		}
		if _, err := rs.Records.SwapRecord(ctx, key, value, ""); err != nil {
			return fmt.Errorf("remove run %s: %w", r.ID, err)
		}
	}
	return nil
}

// lastUsed returns the time of the last change of a run, except for failed attempts.
func (r Run) lastUsed() time.Time {
	last := r.Began
	for _, t := range []time.Time{r.Ended, r.Issued.Expires.Add(-nonceLifetime)} { // zero times are before all others
		if t.After(last) {
			last = t
		}
	}
	return last
}
