package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

const (
	// knownRefused and refusedFor bound how many messages of strangers are known again, and for how
	// long. Networks keep what was not acknowledged for a day, and the cursor is stored with each
	// message.
	knownRefused, refusedFor = 1000, 24 * time.Hour
	// codesWithin is the time that the limit of new codes is about, and in which nobody is told
	// twice to try later.
	codesWithin = time.Hour
	// mostTold bounds how many people of a channel are told within that time to try later.
	mostTold = 10_000
	// ofStranger is the inbound message of deliveries that go to strangers, which are forgotten
	// once they are settled.
	ofStranger = -1
)

// RequestPairing takes a message of somebody who is not let in.
func (s *Store) RequestPairing(ctx context.Context, m store.PairingRequest) (store.PairingResult, error) {
	now := s.now()
	m.In.Media = nil
	if q := m.In.ReplyTo; q != nil && len(q.Media) > 0 {
		m.In.ReplyTo = &channels.Quote{ID: q.ID, Text: q.Text}
	}
	m.Code = spelled(m.Code)
	var part channels.Part
	part, m.In = partOf(m.In)
	r := refusal{PairingRequest: m, now: now, part: part, coded: s.outbounds(m.Coded), later: s.outbounds(m.Later)}
	if m.In.Text != "" && m.In.Press == "" {
		r.message = encodeJSON(m.In)
	}
	var result store.PairingResult
	err := s.change(ctx, fmt.Sprintf("refuse message %s of %s", m.In.ID, m.In.Chat), func(t *tx) (err error) {
		result, err = t.refuse(r)
		return err
	})
	if err != nil {
		return 0, err
	}
	return result, nil
}

// refusal is a store.PairingRequest made ready for the writer.
type refusal struct {
	store.PairingRequest
	now          time.Time
	part         channels.Part
	message      string // as JSON; "" if it has no text
	coded, later []outbound
}

func (t *tx) refuse(r refusal) (store.PairingResult, error) {
	channel, user := r.In.Chat.Channel, r.In.User.ID
	if err := t.endCodes(channel, r.now.Add(-r.Limits.Life)); err != nil {
		return 0, err
	}
	var code string
	known, err := t.row("SELECT code FROM pairing WHERE channel = ? AND user = ?", []any{channel, user}, &code)
	if err != nil || known && code == "" {
		return store.AlreadyAdmitted, err
	}
	if r.Cursor != "" {
		if err := t.setCursor(channel, r.Cursor); err != nil {
			return 0, err
		}
	}
	dup, err := t.refusedBefore(r.In, r.now)
	if err != nil {
		return 0, err
	}
	if err := t.refuseParts(r.In.Chat, r.part, r.now); err != nil {
		return 0, err
	}
	if dup {
		return store.PairingSeen, nil
	}
	if !known {
		return t.code(r)
	}
	if r.message == "" {
		return store.PairingSilent, nil
	}
	return store.PairingSilent, t.exec("UPDATE pairing SET message = ? WHERE channel = ? AND user = ?", r.message, channel, user)
}

// refusedBefore tells whether a message was seen before, and notes that it was. A message without
// an id cannot be told from another.
func (t *tx) refusedBefore(in channels.Incoming, now time.Time) (bool, error) {
	if in.ID == "" {
		return false, nil
	}
	var seen bool
	if _, err := t.row("SELECT EXISTS (SELECT 1 FROM seen WHERE chat = ? AND message = ?)", []any{in.Chat.String(), in.ID}, &seen); err != nil || seen {
		return seen, err
	}
	n, err := t.changed("INSERT INTO refused (chat, message, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", in.Chat.String(), in.ID, micros(now))
	if err != nil || n == 0 {
		return n == 0, err
	}
	return false, t.boundRefused()
}

// boundRefused forgets the oldest messages of strangers.
func (t *tx) boundRefused() error {
	return t.exec("DELETE FROM refused WHERE seq <= (SELECT max(seq) FROM refused) - ?", knownRefused)
}

// code gives a stranger a code, at the cost of the oldest one if too many are open. When too many
// were made they are told to try later.
func (t *tx) code(r refusal) (store.PairingResult, error) {
	channel, user := r.In.Chat.Channel, r.In.User
	since := micros(r.now.Add(-codesWithin))
	var made, open int
	// A time to come was noted by a clock that was wrong.
	_, err := t.row(`SELECT (SELECT count(*) FROM code_made WHERE channel = ?1 AND at > ?2 AND at <= ?3),
		(SELECT count(*) FROM pairing WHERE channel = ?1 AND code <> '')`, []any{channel, since, micros(r.now)}, &made, &open)
	if err != nil {
		return 0, err
	}
	if made >= r.Limits.PerHour {
		return t.tellLater(r, since)
	}
	if over := open - r.Limits.Open + 1; over > 0 {
		err := t.exec(`DELETE FROM pairing WHERE channel = ?1 AND code <> '' AND user IN
			(SELECT user FROM pairing WHERE channel = ?1 AND code <> '' ORDER BY since, user LIMIT ?2)`, channel, over)
		if err != nil {
			return 0, err
		}
	}
	if err := t.exec("INSERT INTO code_made (channel, at) VALUES (?, ?)", channel, micros(r.now)); err != nil {
		return 0, err
	}
	err = t.exec("INSERT INTO pairing (channel, user, name, username, code, since, message) VALUES (?, ?, ?, ?, ?, ?, ?)",
		channel, user.ID, user.Name, user.Username, r.Code, micros(r.now), r.message)
	if err != nil {
		return 0, err
	}
	return store.PairingCoded, t.enqueueAll(r.coded, ofStranger, r.now)
}

// tellLater tells a stranger to try later, unless they were told lately or too many were.
func (t *tx) tellLater(r refusal, since int64) (store.PairingResult, error) {
	channel, user := r.In.Chat.Channel, r.In.User.ID
	var told bool
	var all int
	_, err := t.row(`SELECT EXISTS (SELECT 1 FROM told_later WHERE channel = ?1 AND user = ?2 AND at > ?3 AND at <= ?4),
		(SELECT count(*) FROM told_later WHERE channel = ?1)`, []any{channel, user, since, micros(r.now)}, &told, &all)
	if err != nil || told || all >= mostTold {
		return store.PairingSilent, err
	}
	err = t.exec("INSERT OR REPLACE INTO told_later (channel, user, at) VALUES (?, ?, ?)", channel, user, micros(r.now))
	if err != nil {
		return 0, err
	}
	return store.PairingDeferred, t.enqueueAll(r.later, ofStranger, r.now)
}

// endCodes forgets the codes of a channel, or of all for "", that were made by a time, with who has
// them.
func (t *tx) endCodes(channel string, until time.Time) error {
	return t.exec("DELETE FROM pairing WHERE code <> '' AND since <= ?2 AND (?1 = '' OR channel = ?1)", channel, micros(until))
}

// PruneCodes removes what is kept of strangers for a time that has passed.
func (s *Store) PruneCodes(ctx context.Context, life time.Duration) error {
	now := s.now()
	codes, lately, seen := micros(now.Add(-life)), micros(now.Add(-codesWithin)), micros(now.Add(-refusedFor))
	var some bool // mostly there is nothing, which is no reason to write
	_, err := s.queryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pairing WHERE code <> '' AND since <= ?1) OR EXISTS (SELECT 1 FROM code_made WHERE at <= ?2 OR at > ?4)
		OR EXISTS (SELECT 1 FROM told_later WHERE at <= ?2 OR at > ?4) OR EXISTS (SELECT 1 FROM refused WHERE at <= ?3)`,
		[]any{codes, lately, seen, micros(now)}, &some)
	if err != nil || !some {
		return wrapError("look for what strangers left", err)
	}
	return s.change(ctx, "forget strangers", func(t *tx) error {
		if err := t.endCodes("", now.Add(-life)); err != nil {
			return err
		}
		for _, table := range []string{"code_made", "told_later"} {
			if err := t.exec("DELETE FROM "+table+" WHERE at <= ? OR at > ?", lately, micros(now)); err != nil {
				return err
			}
		}
		return t.exec("DELETE FROM refused WHERE at <= ?", seen)
	})
}
