package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/gateway/store"
)

// reasonNoAccess is the reason of deliveries that fail because their person has lost access.
const reasonNoAccess = "the sender no longer has access"

// responsiblePerson is an SQL expression on a row i of inbox: the user who has sent the message, or
// caused one that nobody has typed; NULL: the operator.
const responsiblePerson = `CASE WHEN json_valid(i.incoming) THEN
	CASE i.origin WHEN 'person' THEN i.incoming ->> '$.user.id' ELSE i.incoming ->> '$.maker' END END`

// senderCondition is an SQL condition on a row i of inbox: user ?2 of channel ?1 is responsible for
// it. The range of chat keys lets SQLite use the index.
const senderCondition = `i.chat >= ?1 || ':' AND i.chat < ?1 || ';' AND CASE WHEN json_valid(i.incoming)
	THEN i.incoming ->> '$.chat.channel' = ?1 END AND ` + responsiblePerson + " = ?2"

// revocationsChat and revocationsKey are the memory that counts how often people have lost access.
const revocationsChat, revocationsKey = "", "revocations"

// Revoke removes the pairing of a user.
func (s access) Revoke(ctx context.Context, p store.Person, endWork bool) (bool, error) {
	now := s.now()
	removed, unused, err := changedPair(ctx, s.state, fmt.Sprintf("revoke user %s of %s", p.User, p.Channel),
		func(t *tx) (removed bool, unused []string) {
			removed = t.execCount("DELETE FROM pairing WHERE channel = ? AND user = ?", p.Channel, p.User) > 0
			if endWork {
				unused = dismiss(t, p, now)
			}
			return removed, unused
		})
	s.spool.Remove(unused)
	return removed, err
}

// Dismiss ends the work of a person who has lost access.
func (s access) Dismiss(ctx context.Context, p store.Person) error {
	now := s.now()
	unused, err := changed(ctx, s.state, fmt.Sprintf("dismiss user %s of %s", p.User, p.Channel),
		func(t *tx) []string { return dismiss(t, p, now) })
	s.spool.Remove(unused)
	return err
}

// dismiss ends a person's work and returns the copies that no delivery needs any more.
func dismiss(t *tx, p store.Person, now time.Time) (unused []string) {
	t.exec(`INSERT INTO memory (chat, key, value) VALUES (?, ?, '1')
		ON CONFLICT DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)`, revocationsChat, revocationsKey)
	revokeTokens(t, p.Channel, p.User)
	dismissPending(t, p, now)
	running := queryAllTx(t, column[int64], "SELECT i.id FROM inbox i WHERE i.state = 'running' AND i.ended = 0 AND "+
		senderCondition, p.Channel, p.User)
	for _, id := range running {
		t.exec("UPDATE inbox SET status = ? WHERE id = ?", store.Revoked, id)
		closeQuestions(t, id, now)
	}
	return dismissDeliveries(t, p, now)
}

// dismissPending ends the person's inbound messages that wait for a turn.
func dismissPending(t *tx, p store.Person, now time.Time) {
	chats := queryAllTx(t, column[string],
		"SELECT DISTINCT i.chat FROM inbox i WHERE i.state = 'pending' AND i.ended = 0 AND "+senderCondition, p.Channel,
		p.User)
	if len(chats) == 0 {
		return
	}
	t.exec("UPDATE inbox AS i SET state = 'dead', ended = ?3, status = ?4 WHERE i.state = 'pending' AND i.ended = 0 AND "+
		senderCondition,
		p.Channel, p.User, micros(now), store.Revoked)
	eraseAnswers(t)
	for _, chat := range chats {
		updateLine(t, chat)
	}
}

// dismissDeliveries fails the person's pending deliveries. A send in progress is marked as dropped:
// the outbox cancels its network call, and it is not repeated.
func dismissDeliveries(t *tx, p store.Person, now time.Time) (unused []string) {
	for _, id := range deliveriesFor(t, p, store.Sending) {
		t.exec("UPDATE outbox SET dropped = 1 WHERE id = ?", id)
	}
	for _, id := range deliveriesFor(t, p, store.Pending) {
		_, folders := settleDelivery(t, id, "", store.Settlement{State: store.Failed, Reason: reasonNoAccess}, now)
		unused = append(unused, folders...)
	}
	return unused
}

// deliveriesFor finds the deliveries in a state that answer a person's inbound messages or are
// about them.
func deliveriesFor(t *tx, p store.Person, state store.State) []int64 {
	return queryAllTx(t, column[int64], `SELECT o.id FROM outbox o JOIN inbox i ON i.id = max(o.inbound, o.about)
		WHERE o.state <> 'sent' AND o.state = ?3 AND `+senderCondition, p.Channel, p.User, state)
}

// The conditions for running inbound messages and deliveries being sent of dismissed people.
const (
	dismissedInbound  = "state = 'running' AND ended = 0 AND status = '" + store.Revoked + "' ORDER BY id"
	dismissedDelivery = "state = 'sending' AND state <> 'sent' AND dropped = 1 ORDER BY id"
)

// Dismissed returns the running inbound messages and the deliveries being sent of people who have
// lost access.
func (s access) Dismissed(ctx context.Context) (inbounds, deliveries []int64, err error) {
	inbounds, err = readAll(ctx, s.state, "read dismissed turns",
		column[int64], "SELECT id FROM inbox WHERE "+dismissedInbound)
	if err == nil {
		deliveries, err = readAll(ctx, s.state, "read dismissed deliveries",
			column[int64], "SELECT id FROM outbox WHERE "+dismissedDelivery)
	}
	return inbounds, deliveries, err
}

// BusyUnpaired returns the users of a channel who have unfinished work and were not admitted by
// pairing.
func (s access) BusyUnpaired(ctx context.Context, channel string) ([]string, error) {
	const selectUser = "SELECT " + responsiblePerson + " AS user FROM "
	const onChannel = "i.chat >= ?1 || ':' AND i.chat < ?1 || ';'"
	return readAll(ctx, s.state, "read busy users of "+channel, column[string],
		"SELECT DISTINCT user FROM ("+
			selectUser+"inbox i WHERE i.state = 'pending' AND i.ended = 0 AND "+onChannel+" UNION ALL "+
			selectUser+"inbox i WHERE i.state = 'running' AND i.ended = 0 AND "+onChannel+" UNION ALL "+
			selectUser+
			"outbox o JOIN inbox i ON i.id = max(o.inbound, o.about) WHERE o.state = 'pending' AND o.state <> 'sent' AND "+
			onChannel+
			") WHERE user IS NOT NULL AND user NOT IN (SELECT user FROM pairing WHERE channel = ?1 AND code = '')", channel)
}
