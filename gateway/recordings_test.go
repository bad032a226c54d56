package gateway_test

import (
	"context"
	"io/fs"
	"os"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// prunedRecordings remembers what it was last told to keep.
type prunedRecordings struct {
	age   time.Duration
	count int
}

func (p *prunedRecordings) Prune(_ context.Context, age time.Duration, count int) error {
	p.age, p.count = age, count
	return nil
}

func (p *prunedRecordings) Open(store.Inbound, string) (*os.File, error) { return nil, fs.ErrNotExist }

func TestRecordedTurnsAreKeptAsLongAsMessages(t *testing.T) {
	s := musttest.Get(openState(t.Context(), t.TempDir()))(t)
	defer s.Close()
	pruned := &prunedRecordings{}
	g := gateway.New(gateway.Options{Store: s, Settings: gateway.Settings{
		Keep: config.Keep{Messages: 7, MaxMessages: 200}, Recordings: pruned,
	}, Log: zap.NewNop()})
	g.PruneState(t.Context())
	wanttest.Equal(t, "kept are", *pruned, prunedRecordings{7 * 24 * time.Hour, 200})
}
