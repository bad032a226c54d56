package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
)

// fullDisk is a store that takes no change of a run while a command of the workspace has made it
// full.
type fullDisk struct {
	store.Store
	full    func() bool
	refused atomic.Int32
}

func (s *fullDisk) SwapRecord(ctx context.Context, key, old, value string) (bool, error) {
	if strings.HasPrefix(key, "runbook/run/") && s.full() {
		s.refused.Add(1)
		return false, fmt.Errorf("%w: database or disk is full (13)", store.ErrFull)
	}
	return s.Store.SwapRecord(ctx, key, old, value)
}

// newFullRig is a rig with a runbook whose command makes the disk full when it has succeeded.
func newFullRig(t *testing.T) (*rig, *fullDisk) {
	t.Helper()
	const book = "# Fill\n\n## Fill\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> ran; touch full\"}}}\n```\n"
	r := newRunbookRig(t, "true", map[string]string{"fill": book})
	disk := &fullDisk{full: func() bool { return r.exists("full") }}
	r.hook = func(s store.Store) store.Store { disk.Store = s; return disk }
	return r, disk
}

func TestTheProofOfACommandOutlivesAFullDisk(t *testing.T) {
	t.Parallel()
	r, disk := newFullRig(t)
	r.start()
	r.net.UserWrites("1", "ann", "/run fill")
	r.awaitTrue("a refused write", func() bool { return disk.refused.Load() > 1 })
	r.remove("full")
	_, records := r.report("1", "The run is complete.")
	if len(records) != 1 || r.lines("ran") != 1 {
		t.Errorf("the command ran %d times, and the records are %q", r.lines("ran"), by(records))
	}
}

func TestAProofThatAFullDiskHasNotTakenIsNotLostInSilence(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig) string{
		"stopped": func(r *rig) string {
			r.net.UserWrites("1", "ann", "/stop")
			return "Stopped. The run of"
		},
		"restarted": func(r *rig) string {
			r.restart()
			return "I was restarted while working on this."
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, disk := newFullRig(t)
			r.settings.DrainTimeout = 1
			r.start()
			r.net.UserWrites("1", "ann", "/run fill")
			r.awaitTrue("a refused write", func() bool { return disk.refused.Load() > 0 })
			r.awaitText("1", end(r))
			r.expectStatuses(runbook.Waiting)
		})
	}
}
