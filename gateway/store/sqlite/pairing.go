package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

const (
	// maxRefused and refusedAge bound the IDs of outsiders' messages that are stored to recognize
	// duplicates. Networks offer an unacknowledged message for a day.
	maxRefused, refusedAge = 1000, 24 * time.Hour
	// codeWindow is the time that CodeLimits.PerHour counts in. Nobody is told twice within it to
	// try later.
	codeWindow = time.Hour
	// maxToldLater bounds the people of a channel who are told within codeWindow to try later.
	maxToldLater = 10_000
	// outsiderInbound is the value of outbox.inbound for deliveries to outsiders, which are deleted
	// when they are settled.
	outsiderInbound = -1
)

// RequestPairing handles a message of a person without access.
func (s access) RequestPairing(ctx context.Context, m store.PairingRequest) (store.PairingResult, error) {
	now := s.now()
	m.In.Media = nil
	if q := m.In.ReplyTo; q != nil && len(q.Media) > 0 {
		m.In.ReplyTo = &channels.Quote{ID: q.ID, Text: q.Text}
	}
	m.Code = normalizeCode(m.Code)
	var part channels.Part
	part, m.In = prepared.ExtractPart(m.In)
	r := preparedPairing{
		PairingRequest: m, now: now, part: part, coded: prepared.NewOutbounds(m.Coded, s.member),
		later: prepared.NewOutbounds(m.Later, s.member),
	}
	if m.In.Text != "" && m.In.Press == "" {
		r.message = prepared.JSON(m.In)
	}
	return changed(ctx, s.state, fmt.Sprintf("refuse message %s of %s", m.In.ID, m.In.Chat),
		func(t *tx) store.PairingResult { return handleOutsider(t, r) })
}

// preparedPairing is a store.PairingRequest that was encoded before the transaction.
type preparedPairing struct {
	store.PairingRequest
	now          time.Time
	part         channels.Part
	message      string // as JSON; "" if it has no text
	coded, later []*prepared.Outbound
}

func handleOutsider(t *tx, r preparedPairing) store.PairingResult {
	channel, user := r.In.Chat.Channel, r.In.User.ID
	deleteCodes(t, channel, r.now.Add(-r.Limits.Life))
	var code string
	known := t.queryRow("SELECT code FROM pairing WHERE channel = ? AND user = ?", []any{channel, user}, &code)
	if known && code == "" {
		return store.AlreadyAdmitted
	}
	moveCursor(t, channel, r.Cursor)
	dup := recordRefused(t, r.In, r.now)
	refuseParts(t, r.In.Chat, r.part, r.now)
	switch {
	case dup:
		return store.PairingSeen
	case !known:
		return issueCode(t, r)
	case r.message != "":
		t.exec("UPDATE pairing SET message = ? WHERE channel = ? AND user = ?", r.message, channel, user)
	}
	return store.PairingSilent
}

// recordRefused stores the ID of a refused message and reports whether it was known already. A
// message without an ID is always new.
func recordRefused(t *tx, in channels.Incoming, now time.Time) bool {
	if in.ID == "" {
		return false
	}
	if t.exists("SELECT 1 FROM seen WHERE chat = ? AND message = ?", in.Chat.String(), in.ID) ||
		t.execCount("INSERT INTO refused (chat, message, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", in.Chat.String(),
			in.ID, micros(now)) == 0 {
		return true
	}
	limitRefused(t)
	return false
}

// limitRefused deletes the oldest IDs of refused messages beyond maxRefused.
func limitRefused(t *tx) {
	t.exec("DELETE FROM refused WHERE seq <= (SELECT max(seq) FROM refused) - ?", maxRefused)
}

// issueCode gives an outsider a code, which ends the oldest code if too many are valid. If too many
// codes were created lately, the outsider is told to try later.
func issueCode(t *tx, r preparedPairing) store.PairingResult {
	channel, user := r.In.Chat.Channel, r.In.User
	since := micros(r.now.Add(-codeWindow))
	var made, open int
	// A time in the future was stored while the clock was wrong.
	t.queryRow(`SELECT (SELECT count(*) FROM code_made WHERE channel = ?1 AND at > ?2 AND at <= ?3),
		(SELECT count(*) FROM pairing WHERE channel = ?1 AND code <> '')`, []any{channel, since, micros(r.now)}, &made, &open)
	if made >= r.Limits.PerHour {
		return tellLater(t, r, since)
	}
	if over := open - r.Limits.Open + 1; over > 0 {
		t.exec(`DELETE FROM pairing WHERE channel = ?1 AND code <> '' AND user IN
			(SELECT user FROM pairing WHERE channel = ?1 AND code <> '' ORDER BY since, user LIMIT ?2)`, channel, over)
	}
	t.exec("INSERT INTO code_made (channel, at) VALUES (?, ?)", channel, micros(r.now))
	t.exec("INSERT INTO pairing (channel, user, name, username, code, since, message) VALUES (?, ?, ?, ?, ?, ?, ?)",
		channel, user.ID, user.Name, user.Username, r.Code, micros(r.now), r.message)
	insertOutbounds(t, r.coded, outsiderInbound, r.now)
	return store.PairingCoded
}

// tellLater tells an outsider to try later, unless they were told lately or too many outsiders
// were.
func tellLater(t *tx, r preparedPairing, since int64) store.PairingResult {
	channel, user := r.In.Chat.Channel, r.In.User.ID
	var told bool
	var all int
	t.queryRow(`SELECT EXISTS (SELECT 1 FROM told_later WHERE channel = ?1 AND user = ?2 AND at > ?3 AND at <= ?4),
		(SELECT count(*) FROM told_later WHERE channel = ?1)`, []any{channel, user, since, micros(r.now)}, &told, &all)
	if told || all >= maxToldLater {
		return store.PairingSilent
	}
	t.exec("INSERT OR REPLACE INTO told_later (channel, user, at) VALUES (?, ?, ?)", channel, user, micros(r.now))
	insertOutbounds(t, r.later, outsiderInbound, r.now)
	return store.PairingDeferred
}

// deleteCodes deletes the codes of a channel ("": of all channels) that were created until a time,
// with their users.
func deleteCodes(t *tx, channel string, until time.Time) {
	t.exec("DELETE FROM pairing WHERE code <> '' AND since <= ?2 AND (?1 = '' OR channel = ?1)", channel, micros(until))
}

// PruneCodes deletes expired codes and other expired data of outsiders.
func (s access) PruneCodes(ctx context.Context, life time.Duration) error {
	now := s.now()
	codes, lately, seen := micros(now.Add(-life)), micros(now.Add(-codeWindow)), micros(now.Add(-refusedAge))
	// Mostly there are none, and a transaction would write to the disk.
	some, err := readValue[bool](ctx, s.state, "look for expired data of outsiders",
		`SELECT EXISTS (SELECT 1 FROM pairing WHERE code <> '' AND since <= ?1) OR EXISTS (SELECT 1 FROM code_made WHERE at <= ?2 OR at > ?4)
		OR EXISTS (SELECT 1 FROM told_later WHERE at <= ?2 OR at > ?4) OR EXISTS (SELECT 1 FROM refused WHERE at <= ?3)`,
		codes, lately, seen, micros(now))
	if err != nil || !some {
		return err
	}
	return s.change(ctx, "delete expired data of outsiders", func(t *tx) {
		deleteCodes(t, "", now.Add(-life))
		for _, table := range []string{"code_made", "told_later"} {
			t.exec("DELETE FROM "+table+" WHERE at <= ? OR at > ?", lately, micros(now))
		}
		t.exec("DELETE FROM refused WHERE at <= ?", seen)
	})
}
