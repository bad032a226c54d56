package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// addEntry adds an entry to the transcript of an inbound message. delivery is the first one of its
// message, 0: unknown.
func addEntry(t *tx, inbound int64, e store.Entry, delivery int64, now time.Time) {
	at := e.Time
	if at.IsZero() {
		at = now
	}
	t.exec(`INSERT INTO transcript (inbound, n, text, media, at, delivery)
		VALUES (?1, (SELECT coalesce(max(n), 0) + 1 FROM transcript WHERE inbound = ?1), ?2, ?3, ?4, ?5)`,
		inbound, e.Text, prepared.JSON(e.Media), micros(at), delivery)
}

// History returns the last turns of a chat: the messages whose turn has started, each with the
// agent's messages.
func (s questions) History(ctx context.Context, chat channels.Chat, turns int, without int64) ([]store.Entry, error) {
	if turns <= 0 {
		return nil, nil
	}
	inbounds, err := readAll(ctx, s.state, "read the history of "+chat.String(),
		scanInbound, selectInbound+`chat = ?1 AND (attempt > 0 OR origin <> 'person' AND
			EXISTS (SELECT 1 FROM transcript t WHERE t.inbound = inbox.id)) AND id <> ?3
			AND id > coalesce((SELECT inbound FROM afresh WHERE chat = ?1), 0) ORDER BY id DESC LIMIT ?2`, chat.String(),
		turns, without)
	if err != nil {
		return nil, err
	}
	var entries []store.Entry
	for _, i := range slices.Backward(inbounds) {
		turn, err := s.entriesOf(ctx, i)
		if err != nil {
			return nil, err
		}
		entries = append(entries, turn...)
	}
	return entries, nil
}

// entriesOf returns the entries of a turn: the person's message and the agent's messages.
func (s questions) entriesOf(ctx context.Context, i store.Inbound) ([]store.Entry, error) {
	said, err := readAll(ctx, s.state, fmt.Sprintf("read the transcript of inbound message %d", i.ID), scanEntry,
		"SELECT inbound, text, media, at FROM transcript WHERE inbound = ? ORDER BY n", i.ID)
	if i.Attempt == 0 { // the message was only sent
		return said, err
	}
	entry := store.Entry{Role: "user", Text: i.In.Text, Media: i.In.Media, Time: i.Received, Inbound: i.ID}
	return append([]store.Entry{entry}, said...), err
}

func scanEntry(scan func(...any) error) (store.Entry, error) {
	e := store.Entry{Role: "agent"}
	err := scan(&e.Inbound, &e.Text, jsonColumn{to: &e.Media}, timeColumn{&e.Time})
	return e, err
}

// startConversation hides the conversation so far, deletes the chat's memories and names the new
// conversation.
func startConversation(t *tx, chat channels.Chat) {
	t.exec("DELETE FROM memory WHERE chat = ?1 AND substr(key, 1, length(?2)) <> ?2", chat.String(), store.LastingPrefix)
	t.exec(`INSERT INTO memory (chat, key, value) VALUES (?, ?, '1')
		ON CONFLICT DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)`, chat.String(), store.ConversationMemory)
	t.exec(`INSERT INTO afresh (chat, inbound) SELECT ?1, coalesce(max(id), 0) FROM inbox WHERE chat = ?1
		ON CONFLICT DO UPDATE SET inbound = excluded.inbound`, chat.String())
}

// Turns returns the turns that match a filter, newest first.
func (s questions) Turns(ctx context.Context, f store.TurnFilter) ([]store.Inbound, error) {
	chat := ""
	if f.Chat != (channels.Chat{}) {
		chat = f.Chat.String()
	}
	return readAll(ctx, s.state, "read turns",
		scanInbound, selectInbound+
			`(attempt > 0 OR state IN ('pending', 'dead')) AND (?1 = 0 OR id < ?1) AND (?2 = '' OR chat = ?2)
			AND (?3 = '' OR CASE state WHEN 'done' THEN status ELSE state END = ?3) AND (?4 = '' OR agent = ?4)
			AND (?6 = '' OR origin = ?6)
		ORDER BY id DESC LIMIT ?5`, f.Before, chat, f.Outcome, f.Agent, max(f.Limit, 0), f.Origin)
}

// Deliveries returns the deliveries of a turn.
func (s questions) Deliveries(ctx context.Context, inbound int64) ([]store.Delivery, error) {
	return readAll(ctx, s.state, fmt.Sprintf("read the deliveries of inbound message %d", inbound),
		scanDelivery, selectDelivery+"inbound = ? AND sequence > 0 ORDER BY id", inbound)
}

// CountDeliveries counts the deliveries of turns by state.
func (s questions) CountDeliveries(ctx context.Context, inbounds []int64) (map[int64]map[store.State]int, error) {
	counts := map[int64]map[store.State]int{}
	query := `SELECT inbound, state, count(*) FROM outbox WHERE inbound IN (SELECT value FROM json_each(?)) AND sequence > 0 GROUP BY inbound, state`
	err := s.queryRows(ctx, query, []any{prepared.JSON(inbounds)}, func(scan func(...any) error) error {
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
	return readValue[string](ctx, s.state, fmt.Sprintf("read the trace of inbound message %d", inbound),
		"SELECT text FROM trace WHERE inbound = ?", inbound)
}

// OldestPendingSince returns when the longest waiting inbound message was received.
func (s questions) OldestPendingSince(ctx context.Context) (time.Time, error) {
	received, err := readValue[int64](ctx, s.state, "read the oldest pending inbound message",
		"SELECT coalesce(min(received), 0) FROM inbox WHERE state = 'pending' AND ended = 0")
	return fromMicros(received), err
}
