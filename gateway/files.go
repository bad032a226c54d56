package gateway

import (
	"context"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Files are the settings of the files that people send.
type Files struct {
	MaxBytes int64         // of one chat; 0: no limit
	Keep     time.Duration // 0: for ever
}

// receivedFiles has the limit and the records of received files.
type receivedFiles struct {
	store.Records
	settings func() *Settings
}

var _ channels.ReceivedFiles = receivedFiles{}

func (f receivedFiles) MaxBytes() int64 { return f.settings().Files.MaxBytes }

// unreceivedAge is the longest time between the download of a file and the storing of its message.
const unreceivedAge = 24 * time.Hour

// pruneFiles removes received files that are older than the settings allow, except those that a
// waiting message may need.
func (g *Gateway) pruneFiles(ctx context.Context) {
	keep := g.currentSettings().Files.Keep
	if keep == 0 || g.o.PruneFiles == nil {
		return
	}
	before := time.Now().Add(-keep)
	oldest, err := g.o.Store.OldestPendingSince(ctx)
	if needed := oldest.Add(-unreceivedAge); err == nil && !oldest.IsZero() && needed.Before(before) {
		before = needed
	}
	removed := 0
	if err == nil {
		removed, err = g.o.PruneFiles(ctx, before)
	}
	if err != nil && ctx.Err() == nil {
		g.o.Log.Warn("received files not removed", zap.Error(err))
	}
	if removed > 0 {
		g.o.Log.Info("removed old received files", zap.Int("files", removed))
	}
}
