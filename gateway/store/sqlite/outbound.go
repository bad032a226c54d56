package sqlite

import (
	"time"

	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// insertOutbounds stores outbound messages that answer an inbound message, or none (0).
func insertOutbounds(t *tx, outbounds []*prepared.Outbound, inbound int64, now time.Time) {
	for _, l := range outbounds {
		l.Inbound = inbound
		insertDeliveries(t, l, false, now)
	}
}

// insertDeliveries stores the parts that no earlier attempt has stored with the same sequence
// number. The first is marked as sending if claim is set and the chat has no pending or sending
// deliveries.
func insertDeliveries(t *tx, l *prepared.Outbound, claim bool, now time.Time) (result enqueueResult) {
	if len(l.Encoded) == 0 {
		return result
	}
	free, revoked, stored := checkOutbound(t, l)
	if revoked {
		return result
	}
	for n := range l.Encoded {
		if stored[n] {
			continue
		}
		state, owner, tries := store.Pending, "", 0
		if result.ids == nil {
			result.first, result.sending = n, claim && free
			if result.sending {
				state, owner, tries = store.Sending, l.Member, 1
			}
		}
		id := t.execInsert(`INSERT INTO outbox (inbound, about, sequence, part, digest, chat, state, owner, tries, queued, outgoing)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, l.Inbound, l.About, l.Sequence, n, l.Digest, l.Chat, state, owner, tries,
			micros(now), l.Encoded[n])
		result.ids = append(result.ids, id)
		referenceCopies(t, l.Copies[n], id)
		if transient := l.Parts[n].Replace; transient != "" {
			dropTransient(t, l.Chat, transient)
		}
	}
	return result
}

// checkOutbound reports whether the chat has no pending or sending deliveries, whether the sender
// of the inbound message has lost access, and which parts an earlier attempt has stored with the
// same sequence number, except for failed ones.
func checkOutbound(t *tx, l *prepared.Outbound) (free, revoked bool, stored map[int]bool) {
	var repeated, adopted bool
	t.queryRow(`SELECT NOT EXISTS (SELECT 1 FROM outbox WHERE state = 'pending' AND chat = ?1 AND state <> 'sent')
			AND NOT EXISTS (SELECT 1 FROM outbox WHERE state = 'sending' AND chat = ?1 AND state <> 'sent'),
		coalesce(i.status = ?4, FALSE) OR ?5 > 0 AND EXISTS (SELECT 1 FROM inbox WHERE id = ?5 AND status = ?4),
		?3 > 0 AND EXISTS (SELECT 1 FROM outbox WHERE inbound = ?2 AND sequence = ?3 AND sequence > 0),
		coalesce(i.state = 'running' AND i.ended = 0 AND i.owner <> ?6, FALSE)
		FROM (SELECT 1) LEFT JOIN inbox i ON i.id = ?2`,
		[]any{l.Chat, l.Inbound, l.Sequence, store.Revoked, l.About, l.Member}, &free, &revoked, &repeated, &adopted)
	if adopted {
		t.fail(store.ErrFenced)
	}
	if !repeated || l.Inbound == 0 {
		return free, revoked, nil
	}
	stored = map[int]bool{}
	for _, part := range queryAllTx(t, column[int], `SELECT part FROM outbox
		WHERE inbound = ? AND sequence = ? AND sequence > 0 AND digest = ? AND state <> 'failed'`, l.Inbound, l.Sequence,
		l.Digest) {
		stored[part] = true
	}
	if l.Unstreamed != nil && len(stored) > 0 { // an earlier attempt may have split it otherwise
		for n := range l.Parts {
			stored[n] = true
		}
	}
	return free, revoked, stored
}

// referenceCopies stores that a delivery needs copies until it is settled.
func referenceCopies(t *tx, folders []string, delivery int64) {
	for _, f := range folders {
		t.exec("INSERT INTO spooled (folder, delivery) VALUES (?, ?) ON CONFLICT DO NOTHING", f, delivery)
	}
}

// dereferenceCopies removes the references of a delivery to its copies, and returns the copies that
// no other delivery needs.
func dereferenceCopies(t *tx, delivery int64) []string {
	folders := queryAllTx(t, column[string], "SELECT folder FROM spooled WHERE delivery = ?", delivery)
	t.exec("DELETE FROM spooled WHERE delivery = ?", delivery)
	return unreferencedCopies(t, folders)
}

// unreferencedCopies returns the copies that no delivery needs.
func unreferencedCopies(t *tx, folders []string) (free []string) {
	for _, f := range folders {
		if !t.exists("SELECT 1 FROM spooled WHERE folder = ? LIMIT 1", f) {
			free = append(free, f)
		}
	}
	return free
}
