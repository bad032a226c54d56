package postgres

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
	return readAll[store.Inbound](ctx, s.state, "read turns", `SELECT inbound_json(i) FROM inbox i
		WHERE (attempt > 0 OR state IN ('pending', 'dead')) AND ($1 = 0 OR id < $1) AND ($2 = '' OR chat = $2)
			AND ($3 = '' OR CASE state WHEN 'done' THEN status ELSE state END = $3) AND ($4 = '' OR agent = $4)
			AND ($6 = '' OR origin = $6)
		ORDER BY id DESC LIMIT $5`, f.Before, chat, f.Outcome, f.Agent, max(f.Limit, 0), f.Origin)
}

// Deliveries returns the deliveries of a turn.
func (s questions) Deliveries(ctx context.Context, inbound int64) ([]store.Delivery, error) {
	return readAll[store.Delivery](ctx, s.state, fmt.Sprintf("read the deliveries of inbound message %d", inbound),
		"SELECT delivery_json(o) FROM outbox o WHERE inbound = $1 AND sequence > 0 ORDER BY id", inbound)
}

// CountDeliveries counts the deliveries of turns by state.
func (s questions) CountDeliveries(ctx context.Context, inbounds []int64) (map[int64]map[store.State]int, error) {
	return readValue[map[int64]map[store.State]int](ctx, s.state, "count deliveries",
		`SELECT coalesce(json_object_agg(inbound, counts), '{}') FROM (SELECT inbound, json_object_agg(state, n) AS counts FROM (
			SELECT inbound, state, count(*) AS n FROM outbox WHERE inbound = ANY ($1) AND sequence > 0 GROUP BY inbound, state
		) each_state GROUP BY inbound) each_turn`, inbounds)
}

// Trace returns the trace that Finish stored.
func (s questions) Trace(ctx context.Context, inbound int64) (string, error) {
	return readValue[string](ctx, s.state, fmt.Sprintf("read the trace of inbound message %d", inbound),
		"SELECT to_json(text) FROM trace WHERE inbound = $1", inbound)
}

// OldestPendingSince returns when the longest waiting inbound message was received.
func (s questions) OldestPendingSince(ctx context.Context) (time.Time, error) {
	return readValue[time.Time](ctx, s.state, "read the oldest pending inbound message",
		"SELECT to_json(time_of(coalesce(min(received), 0))) FROM inbox WHERE state = 'pending' AND ended = 0")
}

// Channels returns the names of the channels whose messages the store has, sorted. The query jumps
// from channel to channel.
func (s questions) Channels(ctx context.Context) ([]string, error) {
	return readAll[string](ctx, s.state, "list channels", `WITH RECURSIVE names (name) AS (
			SELECT (SELECT split_part(min(chat), ':', 1) FROM inbox)
			UNION ALL
			SELECT (SELECT split_part(min(chat), ':', 1) FROM inbox WHERE chat >= name || ';') FROM names WHERE name IS NOT NULL)
		SELECT to_json(name) FROM names WHERE name IS NOT NULL`)
}

// MissingCopies counts the folders of the spool that undelivered messages need, and those of them
// that are missing.
func (s questions) MissingCopies(ctx context.Context) (missing, all int, err error) {
	folders, err := readAll[string](ctx, s.state, "read which copies are needed",
		"SELECT to_json(folder::text) FROM (SELECT DISTINCT folder FROM spooled) s")
	for _, folder := range folders {
		if !s.spool.Has(folder) {
			missing++
		}
	}
	return missing, len(folders), err
}
