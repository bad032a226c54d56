package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Turns returns the turns that match a filter, newest first.
func (s questions) Turns(ctx context.Context, f store.TurnFilter) ([]store.Inbound, error) {
	chat := ""
	if f.Chat != (channels.Chat{}) {
		chat = f.Chat.String()
	}
	return readAll(ctx, s.state, "read turns", scanInbound, selectInbound+`(attempt > 0 OR state IN ('pending', 'dead')) AND (?1 = 0 OR id < ?1) AND (?2 = '' OR chat = ?2)
			AND (?3 = '' OR CASE state WHEN 'done' THEN status ELSE state END = ?3) AND (?4 = '' OR agent = ?4)
		ORDER BY id DESC LIMIT ?5`, f.Before, chat, f.Outcome, f.Agent, max(f.Limit, 0))
}

// Deliveries returns the deliveries of a turn.
func (s questions) Deliveries(ctx context.Context, inbound int64) ([]store.Delivery, error) {
	return readAll(ctx, s.state, fmt.Sprintf("read the deliveries of inbound message %d", inbound), scanDelivery, selectDelivery+"inbound = ? AND sequence > 0 ORDER BY id", inbound)
}

// CountDeliveries counts the deliveries of turns by state.
func (s questions) CountDeliveries(ctx context.Context, inbounds []int64) (map[int64]map[store.State]int, error) {
	counts := map[int64]map[store.State]int{}
	query := `SELECT inbound, state, count(*) FROM outbox WHERE inbound IN (SELECT value FROM json_each(?)) AND sequence > 0 GROUP BY inbound, state`
	err := s.queryRows(ctx, query, []any{encodeJSON(inbounds)}, func(scan func(...any) error) error {
		var inbound int64
		var state store.State
		var n int
		if err := scan(&inbound, &state, &n); err != nil {
			return err
		}
		if counts[inbound] == nil {
			counts[inbound] = map[store.State]int{}
		}
		counts[inbound][state] = n
		return nil
	})
	return counts, wrapError("count deliveries", err)
}

// Trace returns the trace that Finish stored.
func (s questions) Trace(ctx context.Context, inbound int64) (string, error) {
	return readValue[string](ctx, s.state, fmt.Sprintf("read the trace of inbound message %d", inbound), "SELECT text FROM trace WHERE inbound = ?", inbound)
}

// OldestPendingSince returns when the longest waiting inbound message was received.
func (s questions) OldestPendingSince(ctx context.Context) (time.Time, error) {
	received, err := readValue[int64](ctx, s.state, "read the oldest pending inbound message", "SELECT coalesce(min(received), 0) FROM inbox WHERE state = 'pending' AND ended = 0")
	return fromMicros(received), err
}
