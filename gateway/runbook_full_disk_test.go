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

// fullDiskStore is a store that refuses changes of runs while a command in the workspace has marked
// it as full.
type fullDiskStore struct {
	store.Store
	full    func() bool
	refused atomic.Int32
}

func (s *fullDiskStore) SwapRecord(ctx context.Context, key, old, value string) (bool, error) {
	if strings.HasPrefix(key, "runbook/run/") && s.full() {
		s.refused.Add(1)
		return false, fmt.Errorf("%w: database or disk is full (13)", store.ErrFull)
	}
	return s.Store.SwapRecord(ctx, key, old, value)
}

// newFullDiskFixture is a fixture with a runbook whose command fills the disk when it has
// succeeded.
func newFullDiskFixture(t *testing.T) (*fixture, *fullDiskStore) {
	t.Helper()
	const book = "# Fill\n\n## Fill\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"echo x >> ran; touch full\"}}}\n```\n"
	fx := newRunbookFixture(t, "true", map[string]string{"fill": book})
	disk := &fullDiskStore{full: func() bool { return fx.fileExists("full") }}
	fx.wrapStore = func(s store.Store) store.Store { disk.Store = s; return disk }
	return fx, disk
}

func TestTheProofOfACommandSurvivesAFullDisk(t *testing.T) {
	t.Parallel()
	fx, disk := newFullDiskFixture(t)
	fx.start()
	fx.net.UserWrites("1", "ann", "/run fill")
	fx.awaitTrue("a refused write", func() bool { return disk.refused.Load() > 1 })
	fx.removeFile("full")
	_, records := fx.awaitReport("1", "The run is complete.")
	if len(records) != 1 || fx.countLines("ran") != 1 {
		t.Errorf("the command ran %d times, and the records are %q", fx.countLines("ran"), provenBy(records))
	}
}

func TestAProofThatAFullDiskRefusedIsReported(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*fixture) string{
		"stopped": func(fx *fixture) string {
			fx.net.UserWrites("1", "ann", "/stop")
			return "Stopped. The run of"
		},
		"restarted": func(fx *fixture) string {
			fx.restart()
			return "I was restarted while working on this."
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx, disk := newFullDiskFixture(t)
			fx.settings.DrainTimeout = 1
			fx.start()
			fx.net.UserWrites("1", "ann", "/run fill")
			fx.awaitTrue("a refused write", func() bool { return disk.refused.Load() > 0 })
			fx.awaitText("1", end(fx))
			fx.expectStatuses(runbook.Waiting)
		})
	}
}
