package sqlite

import (
	"context"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Turns returns turns, newest first.
func (s *Store) Turns(ctx context.Context, f store.TurnFilter) ([]store.Inbound, error) {
	chat := ""
	if f.Chat != (channels.Chat{}) {
		chat = f.Chat.String()
	}
	inbounds, err := queryAll(ctx, s, scanInbound, "SELECT "+inboundColumns+` FROM inbox
		WHERE (attempt > 0 OR state IN ('pending', 'dead')) AND (?1 = 0 OR id < ?1) AND (?2 = '' OR chat = ?2)
			AND (?3 = '' OR CASE state WHEN 'done' THEN status ELSE state END = ?3) AND (?4 = '' OR agent = ?4)
		ORDER BY id DESC LIMIT ?5`, f.Before, chat, f.Outcome, f.Agent, max(f.Limit, 0))
	return inbounds, wrapError("read turns", err)
}

// Deliveries returns what an agent's turn put into the outbox.
func (s *Store) Deliveries(ctx context.Context, inbound int64) ([]store.Delivery, error) {
	deliveries, err := queryAll(ctx, s, scanDelivery, "SELECT "+deliveryColumns+" FROM outbox WHERE inbound = ? AND sequence > 0 ORDER BY id", inbound)
	return deliveries, wrapError("read deliveries of inbound %d", err, inbound)
}

// Trace returns what Finish was given to keep of a turn.
func (s *Store) Trace(ctx context.Context, inbound int64) (string, error) {
	var text string
	_, err := s.queryRow(ctx, "SELECT text FROM trace WHERE inbound = ?", []any{inbound}, &text)
	return text, wrapError("read the trace of inbound %d", err, inbound)
}

// Oldest returns when the pending inbound message came in that waits longest.
func (s *Store) Oldest(ctx context.Context) (time.Time, error) {
	var received int64
	_, err := s.queryRow(ctx, "SELECT coalesce(min(received), 0) FROM inbox WHERE state = 'pending' AND ended = 0", nil, &received)
	return fromMicros(received), wrapError("read the oldest pending inbound", err)
}
