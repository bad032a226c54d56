package runbook_test

import (
	"testing"
	"time"

	"nanobot/gateway/runbook"
	"nanobot/internal/musttest"
)

func TestOldRunsAreRemoved(t *testing.T) {
	book, _, _ := runbook.Parse("# One\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"true\"}}}\n```\n")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	runs := runbook.Runs{Records: &memoryStore{values: map[string]string{}}, Now: func() time.Time { return now }}
	begin := func(by string) string {
		r, _, err := runs.Begin(t.Context(), runbook.Start{Runbook: book, By: by, Chat: "net:1"})
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	old, person := begin(runbook.ByAgent), begin("net:ann")
	now = now.Add(20 * 24 * time.Hour)
	young := begin(runbook.ByAgent)
	now = now.Add(11 * 24 * time.Hour)
	check := func(stays map[string]bool) {
		t.Helper()
		for id, stays := range stays {
			if _, err := runs.Load(t.Context(), id); (err == nil) != stays {
				t.Errorf("run %s: %v, stays: %v", id, err, stays)
			}
		}
	}
	musttest.Do(t, runs.Prune(t.Context(), 0, 0))
	check(map[string]bool{old: true, person: true, young: true})
	musttest.Do(t, runs.Prune(t.Context(), 30*24*time.Hour, 0))
	check(map[string]bool{old: false, person: true, young: true})
	musttest.Do(t, runs.Prune(t.Context(), 30*24*time.Hour, 32*24*time.Hour))
	check(map[string]bool{person: true, young: true})
	musttest.Do(t, runs.Prune(t.Context(), 30*24*time.Hour, 31*24*time.Hour))
	check(map[string]bool{person: false, young: true})
}
