package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
)

// firstPrune is the time from the start to the first pruning: a daemon that is often restarted has
// to prune, too.
const firstPrune = 2 * time.Minute

func (g *Gateway) prune(ctx context.Context) error {
	for wait := firstPrune; retry.Sleep(ctx, wait); wait = time.Hour {
		g.intake.ResetRefusalLog()
		g.pruneFiles(ctx)
		g.pruneState(ctx)
	}
	return nil
}

// days is a number of days of config.Keep; 0: no limit.
func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

// pruneState removes what the settings no longer keep from the store and from the channels.
func (g *Gateway) pruneState(ctx context.Context) {
	keep := g.currentSettings().Keep
	err := errors.Join(
		g.o.Store.Prune(ctx, store.Retention{
			Age: days(keep.Messages), Count: keep.MaxMessages, Usage: days(keep.Usage), Memories: days(keep.Memories),
			Zone: g.Zone(),
		}),
		runbook.Runs{Records: g.o.Store}.Prune(ctx, days(keep.Messages), days(keep.Runs)))
	if r := g.currentSettings().Recordings; r != nil {
		if failure := r.Prune(ctx, days(keep.Messages), keep.MaxMessages); failure != nil {
			err = errors.Join(err, fmt.Errorf("recorded turns: %w", failure))
		}
	}
	for name, ch := range g.o.Channels {
		if h, ok := ch.(channels.HistoryPruner); ok && keep.History > 0 {
			if failure := h.PruneHistory(ctx, time.Now().Add(-days(keep.History))); failure != nil {
				err = errors.Join(err, fmt.Errorf("messages of %s: %w", name, failure))
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		g.o.Log.Warn("prune failed", zap.Error(err))
	}
}
