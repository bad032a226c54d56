package channels

import (
	"context"
	"time"
)

// HistoryPruner is a channel that stores the messages of its chats itself, as a network does on its
// servers.
type HistoryPruner interface {
	// PruneHistory deletes the messages that are older than a time. The gateway calls it every hour
	// while Run runs.
	PruneHistory(ctx context.Context, before time.Time) error
}
