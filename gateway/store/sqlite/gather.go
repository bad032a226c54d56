package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// maxPieces bounds the messages that are joined to one.
const maxPieces = 100

// maxSearched bounds the messages of a chat that are searched for one of the same person.
const maxSearched = 50

// isSender is an SQL condition on a row of inbox: its sender is user ?2.
const isSender = "CASE WHEN json_valid(incoming) THEN incoming ->> '$.user.id' = ?2 END"

// joinMessage adds a message to the one before of the same person, if they belong together and that
// is still pending. It reports false if they stay two messages.
func (t *tx) joinMessage(r preparedReceive, chat chatState) (store.ReceiveResult, bool, error) {
	if r.Settle || r.Gather == 0 && r.Follows == 0 || chat.waiting == 0 {
		return store.ReceiveResult{}, false, nil
	}
	before, err := t.lastOfSender(r.In)
	if err != nil || !canJoin(r, before) {
		return store.ReceiveResult{}, false, err
	}
	before.In = channels.Join(before.In, r.In, "\n")
	if r.Gather > 0 && !before.NotBefore.IsZero() {
		before.NotBefore = earlier(r.now.Add(r.Gather), before.Received.Add(store.MaxGather))
	}
	err = t.exec("UPDATE inbox SET incoming = ?, not_before = ? WHERE id = ?", encodeJSON(before.In), micros(before.NotBefore), before.ID)
	if err == nil && r.In.ID != "" {
		err = t.exec("INSERT INTO seen (chat, message, inbound, at) VALUES (?, ?, ?, ?)", r.In.Chat.String(), r.In.ID, before.ID, micros(r.now))
	}
	if err == nil {
		err = t.completeParts(r.In.Chat, r.part, before.ID, r.now)
	}
	if err == nil {
		err = t.insertOutbounds(r.answer, before.ID, r.now)
	}
	if err == nil {
		err = t.applyRequests(r.ReceiveRequest, r.now)
	}
	if err == nil {
		err = t.updateLine(r.In.Chat.String())
	}
	if err != nil {
		return store.ReceiveResult{}, false, err
	}
	result := store.ReceiveResult{Inbound: before, Disposition: store.Joined, Running: chat.running, Runner: chat.runner, Waiting: chat.waiting}
	return result, true, t.moveCursor(r)
}

// canJoin reports whether a message belongs to the one before of its sender.
func canJoin(r preparedReceive, before store.Inbound) bool {
	gathers := r.Gather > 0 && r.now.Before(before.NotBefore)
	follows := r.Follows > 0 && before.In.Introduces() && r.now.Sub(before.Received) <= r.Follows
	return (gathers || follows) && before.State == store.Pending && before.Attempt == 0 && len(before.In.Pieces) < maxPieces &&
		before.Agent == cmp.Or(r.Agent, store.DefaultAgent) && channels.UTF16(before.In.Text)+channels.UTF16(r.In.Text) <= store.MaxGatherUnits
}

// lastOfSender returns the last message of a person in a chat, or the zero Inbound.
func (t *tx) lastOfSender(in channels.Incoming) (store.Inbound, error) {
	last, _, err := t.queryInbound(fmt.Sprintf(`SELECT %s FROM (SELECT * FROM inbox WHERE chat = ?1 ORDER BY id DESC LIMIT %d)
		WHERE %s ORDER BY id DESC LIMIT 1`, inboundColumns, maxSearched, isSender), in.Chat.String(), in.User.ID)
	if errors.Is(err, errUnreadable) {
		return store.Inbound{}, nil
	}
	return last, err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// releaseGathering ends the wait of a person's pending messages for further ones. It reports
// whether there were any.
func (t *tx) releaseGathering(in channels.Incoming, chat chatState) (bool, error) {
	if chat.waiting == 0 {
		return false, nil
	}
	n, err := t.execCount("UPDATE inbox SET not_before = 0 WHERE state = 'pending' AND not_before > 0 AND chat = ?1 AND "+isSender,
		in.Chat.String(), in.User.ID)
	if err != nil || n == 0 {
		return false, err
	}
	return true, t.updateLine(in.Chat.String())
}

// NextClaim returns when a message has waited long enough for further ones.
func (s *Store) NextClaim(ctx context.Context) (time.Duration, bool, error) {
	var at int64
	_, err := s.queryRow(ctx, "SELECT coalesce(min(not_before), 0) FROM line WHERE not_before > 0", nil, &at)
	if err != nil {
		return 0, false, fmt.Errorf("read when the next message can be claimed: %w", err)
	}
	wait := time.Duration(at-micros(s.now())) * time.Microsecond
	return min(max(wait, 0), store.MaxGather), at != 0, nil
}
