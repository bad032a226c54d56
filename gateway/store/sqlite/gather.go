package sqlite

import (
	"cmp"
	"context"
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
func joinMessage(t *tx, r preparedReceive, chat chatState) (store.ReceiveResult, bool) {
	if r.Settle || r.Gather == 0 && r.Follows == 0 || chat.waiting == 0 {
		return store.ReceiveResult{}, false
	}
	before := lastOfSender(t, r.In)
	if !canJoin(r, before) {
		return store.ReceiveResult{}, false
	}
	before.In = channels.Join(before.In, r.In, "\n")
	if r.Gather > 0 && !before.NotBefore.IsZero() {
		before.NotBefore = earlier(r.now.Add(r.Gather), before.Received.Add(store.MaxGather))
	}
	t.exec("UPDATE inbox SET incoming = ?, not_before = ? WHERE id = ?", encodeJSON(before.In), micros(before.NotBefore), before.ID)
	if r.In.ID != "" {
		t.exec("INSERT INTO seen (chat, message, inbound, at) VALUES (?, ?, ?, ?)", r.In.Chat.String(), r.In.ID, before.ID, micros(r.now))
	}
	completeParts(t, r.In.Chat, r.part, before.ID, r.now)
	insertOutbounds(t, r.answer, before.ID, r.now)
	applyRequests(t, r.ReceiveRequest, r.now)
	updateLine(t, r.In.Chat.String())
	moveCursor(t, r.In.Chat.Channel, r.Cursor)
	return store.ReceiveResult{Inbound: before, Disposition: store.Joined, Running: chat.running, Runner: chat.runner, Waiting: chat.waiting}, true
}

// canJoin reports whether a message belongs to the one before of its sender.
func canJoin(r preparedReceive, before store.Inbound) bool {
	gathers := r.Gather > 0 && r.now.Before(before.NotBefore)
	follows := r.Follows > 0 && before.In.Introduces() && r.now.Sub(before.Received) <= r.Follows
	return (gathers || follows) && before.State == store.Pending && before.Attempt == 0 && len(before.In.Pieces) < maxPieces &&
		before.Agent == cmp.Or(r.Agent, store.DefaultAgent) && channels.UTF16(before.In.Text)+channels.UTF16(r.In.Text) <= store.MaxGatherUnits
}

// lastOfSender returns the last message of a person in a chat, or the zero Inbound.
func lastOfSender(t *tx, in channels.Incoming) store.Inbound {
	last, _, _ := queryInbound(t, fmt.Sprintf(`SELECT %s FROM (SELECT * FROM inbox WHERE chat = ?1 ORDER BY id DESC LIMIT %d)
		WHERE %s ORDER BY id DESC LIMIT 1`, inboundColumns, maxSearched, isSender), in.Chat.String(), in.User.ID)
	return last
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// releaseGathering ends the wait of a person's pending messages for further ones. It reports
// whether there were any.
func releaseGathering(t *tx, in channels.Incoming, chat chatState) bool {
	if chat.waiting == 0 || t.execCount("UPDATE inbox SET not_before = 0 WHERE state = 'pending' AND not_before > 0 AND chat = ?1 AND "+isSender,
		in.Chat.String(), in.User.ID) == 0 {
		return false
	}
	updateLine(t, in.Chat.String())
	return true
}

// NextClaim returns when a message has waited long enough for further ones.
func (s inbox) NextClaim(ctx context.Context) (time.Duration, bool, error) {
	at, err := readValue[int64](ctx, s.state, "read when the next message can be claimed", "SELECT coalesce(min(not_before), 0) FROM line WHERE not_before > 0")
	if err != nil {
		return 0, false, err
	}
	wait := time.Duration(at-micros(s.now())) * time.Microsecond
	return min(max(wait, 0), store.MaxGather), at != 0, nil
}
