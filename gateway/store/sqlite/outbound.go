package sqlite

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// preparedOutbound is a store.Outbound that was encoded before the transaction, so that the writer
// does nothing slow.
type preparedOutbound struct {
	store.Outbound
	chat   string
	member string     // the member that stores it
	digest []byte     // of all parts; empty if the outbound message has no sequence number
	parts  []string   // the parts as JSON
	spool  [][]string // for each part, the folders in the spool that it needs
}

func (s *state) prepareOutbound(outbound store.Outbound, chat channels.Chat) *preparedOutbound {
	made := &preparedOutbound{
		Outbound: outbound, member: s.member, chat: chat.String(), digest: []byte{},
		parts: encodeEach(outbound.Parts), spool: make([][]string, len(outbound.Parts)),
	}
	for i := range outbound.Parts {
		made.spool[i] = copyFolders(outbound.Parts[i].Media)
	}
	switch {
	case outbound.Sequence > 0 && outbound.Unstreamed != nil:
		made.digest = outboundDigest(outbound.Unstreamed, encodeEach(outbound.Unstreamed))
	case outbound.Sequence > 0:
		made.digest = outboundDigest(outbound.Parts, made.parts)
	}
	return made
}

// encodeEach returns parts as JSON.
func encodeEach(parts []channels.Outgoing) []string {
	encoded := make([]string, len(parts))
	for i := range parts { // by their address: a part is large
		encoded[i] = encodeJSON(&parts[i])
	}
	return encoded
}

// prepareEach makes an outbound message of each part.
func (s *state) prepareEach(parts []channels.Outgoing) []*preparedOutbound {
	all := make([]*preparedOutbound, len(parts))
	for i := range parts {
		all[i] = s.prepareOutbound(store.Outbound{Parts: parts[i : i+1]}, parts[i].Chat)
	}
	return all
}

// insertOutbounds stores outbound messages that answer an inbound message, or none (0).
func insertOutbounds(t *tx, outbounds []*preparedOutbound, inbound int64, now time.Time) {
	for _, l := range outbounds {
		l.Inbound = inbound
		insertDeliveries(t, l, false, now)
	}
}

// checkAndPrepare checks that all parts of an outbound message go to the same chat, and prepares
// it.
func (s *state) checkAndPrepare(outbound store.Outbound) (*preparedOutbound, error) {
	if len(outbound.Parts) == 0 {
		return &preparedOutbound{Outbound: outbound}, nil
	}
	chat := outbound.Parts[0].Chat
	for i := range outbound.Parts {
		if other := outbound.Parts[i].Chat; other != chat {
			return nil, fmt.Errorf("an outbound message goes to one chat, not to %s and %s", chat, other)
		}
	}
	return s.prepareOutbound(outbound, chat), nil
}

// outboundDigest is equal for outbound messages with the same content in different attempts. A
// copied file counts by its content instead of its folder in the spool. A replaced transient
// message and the notification do not count: they depend on how long an attempt took. encoded are
// the parts as JSON.
func outboundDigest(parts []channels.Outgoing, encoded []string) []byte {
	h := sha256.New()
	for n := range parts {
		if p := &parts[n]; len(p.Media) == 0 && p.Replace == "" && p.Notification == (channels.Notification{}) {
			_, _ = io.WriteString(h, encoded[n]+"\n")
			continue
		}
		o := parts[n]
		files := make([]channels.File, len(o.Media))
		copy(files, o.Media)
		o.Media, o.Replace, o.Unchanged, o.Notification = files, "", false, channels.Notification{}
		for i, f := range files {
			content, ok := contentName(f.Path)
			if !ok {
				continue
			}
			files[i].Path = content
			o.Form = bytes.ReplaceAll(o.Form, []byte(f.Path), []byte(content))
		}
		_, _ = io.WriteString(h, encodeJSON(&o)+"\n")
	}
	return h.Sum(nil)[:16]
}

// insertDeliveries stores the parts that no earlier attempt has stored with the same sequence
// number. The first is marked as sending if claim is set and the chat has no pending or sending
// deliveries.
func insertDeliveries(t *tx, l *preparedOutbound, claim bool, now time.Time) (result enqueueResult) {
	if len(l.parts) == 0 {
		return result
	}
	free, revoked, stored := checkOutbound(t, l)
	if revoked {
		return result
	}
	for n := range l.parts {
		if stored[n] {
			continue
		}
		state, owner, tries := store.Pending, "", 0
		if result.ids == nil {
			result.first, result.sending = n, claim && free
			if result.sending {
				state, owner, tries = store.Sending, l.member, 1
			}
		}
		id := t.execInsert(`INSERT INTO outbox (inbound, about, sequence, part, digest, chat, state, owner, tries, queued, outgoing)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, l.Inbound, l.About, l.Sequence, n, l.digest, l.chat, state, owner, tries,
			micros(now), l.parts[n])
		result.ids = append(result.ids, id)
		referenceCopies(t, l.spool[n], id)
		if transient := l.Parts[n].Replace; transient != "" {
			dropTransient(t, l.chat, transient)
		}
	}
	return result
}

// checkOutbound reports whether the chat has no pending or sending deliveries, whether the sender
// of the inbound message has lost access, and which parts an earlier attempt has stored with the
// same sequence number, except for failed ones.
func checkOutbound(t *tx, l *preparedOutbound) (free, revoked bool, stored map[int]bool) {
	var repeated, adopted bool
	t.queryRow(`SELECT NOT EXISTS (SELECT 1 FROM outbox WHERE state = 'pending' AND chat = ?1 AND state <> 'sent')
			AND NOT EXISTS (SELECT 1 FROM outbox WHERE state = 'sending' AND chat = ?1 AND state <> 'sent'),
		coalesce(i.status = ?4, FALSE) OR ?5 > 0 AND EXISTS (SELECT 1 FROM inbox WHERE id = ?5 AND status = ?4),
		?3 > 0 AND EXISTS (SELECT 1 FROM outbox WHERE inbound = ?2 AND sequence = ?3 AND sequence > 0),
		coalesce(i.state = 'running' AND i.ended = 0 AND i.owner <> ?6, FALSE)
		FROM (SELECT 1) LEFT JOIN inbox i ON i.id = ?2`,
		[]any{l.chat, l.Inbound, l.Sequence, store.Revoked, l.About, l.member}, &free, &revoked, &repeated, &adopted)
	if adopted {
		t.fail(fmt.Errorf("%w: another member works on the inbound message", store.ErrState))
	}
	if !repeated || l.Inbound == 0 {
		return free, revoked, nil
	}
	stored = map[int]bool{}
	for _, part := range queryAllTx(t, column[int], `SELECT part FROM outbox
		WHERE inbound = ? AND sequence = ? AND sequence > 0 AND digest = ? AND state <> 'failed'`, l.Inbound, l.Sequence,
		l.digest) {
		stored[part] = true
	}
	if l.Unstreamed != nil && len(stored) > 0 { // an earlier attempt may have split it otherwise
		for n := range l.Parts {
			stored[n] = true
		}
	}
	return free, revoked, stored
}
