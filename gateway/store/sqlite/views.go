package sqlite

import (
	"context"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Turns returns turns, newest first.
func (s *Store) Turns(ctx context.Context, f store.TurnFilter) ([]store.Item, error) {
	chat := ""
	if f.Chat != (channels.Chat{}) {
		chat = f.Chat.String()
	}
	items, err := all(ctx, s, scanItem, "SELECT "+itemColumns+` FROM inbox
		WHERE (attempt > 0 OR state IN ('pending', 'dead')) AND (?1 = 0 OR id < ?1) AND (?2 = '' OR chat = ?2)
			AND (?3 = '' OR CASE state WHEN 'done' THEN status ELSE state END = ?3)
		ORDER BY id DESC LIMIT ?4`, f.Before, chat, f.Outcome, max(f.Limit, 0))
	return items, wrap("read turns", err)
}

// Parcels returns what an agent's turn put into the outbox.
func (s *Store) Parcels(ctx context.Context, item int64) ([]store.Parcel, error) {
	parcels, err := all(ctx, s, scanParcel, "SELECT "+parcelColumns+" FROM outbox WHERE item = ? AND place > 0 ORDER BY id", item)
	return parcels, wrap("read parcels of item %d", err, item)
}

// Trace returns what Finish was given to keep of a turn.
func (s *Store) Trace(ctx context.Context, item int64) (string, error) {
	var text string
	_, err := s.lookup(ctx, "SELECT text FROM trace WHERE item = ?", []any{item}, &text)
	return text, wrap("read the trace of item %d", err, item)
}

// Oldest returns when the pending item came in that waits longest.
func (s *Store) Oldest(ctx context.Context) (time.Time, error) {
	var received int64
	_, err := s.lookup(ctx, "SELECT coalesce(min(received), 0) FROM inbox WHERE state = 'pending' AND ended = 0", nil, &received)
	return moment(received), wrap("read the oldest pending item", err)
}
