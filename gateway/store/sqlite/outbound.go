package sqlite

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// outbound is a store.Outbound made ready for the writer, so that nothing slow happens in
// the transaction.
type outbound struct {
	store.Outbound
	chat   string
	member string     // that stores it
	digest []byte     // of all parts; empty when the outbound message has no sequence number
	parts  []string   // the parts as JSON
	spool  [][]string // the spool's folders that each part needs
}

func (s *Store) outbound(l store.Outbound, chat channels.Chat) outbound {
	made := outbound{Outbound: l, member: s.member, chat: chat.String(), digest: []byte{}}
	for _, o := range l.Parts {
		made.parts = append(made.parts, encodeJSON(o))
		made.spool = append(made.spool, folders(o))
	}
	if l.Sequence > 0 {
		made.digest = digest(l.Parts, made.parts)
	}
	return made
}

// outbounds makes each part an outbound message of its own.
func (s *Store) outbounds(parts []channels.Outgoing) []outbound {
	all := make([]outbound, len(parts))
	for i, o := range parts {
		all[i] = s.outbound(store.Outbound{Parts: parts[i : i+1]}, o.Chat)
	}
	return all
}

// enqueueAll stores outbound messages that answer an inbound message, or 0.
func (t *tx) enqueueAll(outbounds []outbound, inbound int64, now time.Time) error {
	for _, l := range outbounds {
		l.Inbound = inbound
		if _, err := t.enqueue(l, false, now); err != nil {
			return err
		}
	}
	return nil
}

// sealed checks that an outbound message goes to one chat, and makes it ready.
func (s *Store) sealed(l store.Outbound) (outbound, error) {
	if len(l.Parts) == 0 {
		return outbound{Outbound: l}, nil
	}
	chat := l.Parts[0].Chat
	for _, o := range l.Parts {
		if o.Chat != chat {
			return outbound{}, fmt.Errorf("an outbound message goes to one chat, not to %s and %s", chat, o.Chat)
		}
	}
	return s.outbound(l, chat), nil
}

// digest tells whether two attempts say the same. A file's copy is named by what is in it, not by
// where this copy lies; and which transient message a part takes the place of says nothing. encoded
// are the parts as JSON.
func digest(parts []channels.Outgoing, encoded []string) []byte {
	h := sha256.New()
	for n, o := range parts {
		if len(o.Media) == 0 && o.Replace == "" {
			fmt.Fprintf(h, "%s\n", encoded[n])
			continue
		}
		files := make([]channels.File, len(o.Media))
		copy(files, o.Media)
		o.Media, o.Replace = files, ""
		for i, f := range files {
			content, ok := content(f.Path)
			if !ok {
				continue
			}
			files[i].Path = content
			o.Form = bytes.ReplaceAll(o.Form, []byte(f.Path), []byte(content))
		}
		fmt.Fprintf(h, "%s\n", encodeJSON(o))
	}
	return h.Sum(nil)[:16]
}

// enqueue stores the parts that were not put with the same sequence number by an earlier attempt.
// The first is marked sending if that is claimed and nothing of the chat is pending or sending.
func (t *tx) enqueue(l outbound, claim bool, now time.Time) (posted, error) {
	var p posted
	if len(l.parts) == 0 {
		return p, nil
	}
	free, revoked, said, err := t.before(l)
	if err != nil || revoked {
		return p, err
	}
	for n := range l.parts {
		if said[n] {
			continue
		}
		state, owner, tries := store.Pending, "", 0
		if p.ids == nil {
			p.first, p.sending = n, claim && free
			if p.sending {
				state, owner, tries = store.Sending, l.member, 1
			}
		}
		id, err := t.insert(`INSERT INTO outbox (inbound, about, sequence, part, digest, chat, state, owner, tries, queued, outgoing)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, l.Inbound, l.About, l.Sequence, n, l.digest, l.chat, state, owner, tries, micros(now), l.parts[n])
		if err != nil {
			return p, err
		}
		p.ids = append(p.ids, id)
		if err := t.need(l.spool[n], id); err != nil {
			return p, err
		}
		if transient := l.Parts[n].Replace; transient != "" {
			if err := t.dropTransient(l.chat, transient); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// before says whether an outbound message's chat is free, whether the sender of its inbound message
// has lost access, and which of its parts an earlier attempt has put with the same sequence number:
// those that were sent or still may be.
func (t *tx) before(l outbound) (free, revoked bool, said map[int]bool, err error) {
	var again, lost bool
	_, err = t.row(`SELECT NOT EXISTS (SELECT 1 FROM outbox WHERE state = 'pending' AND chat = ?1 AND state <> 'sent')
			AND NOT EXISTS (SELECT 1 FROM outbox WHERE state = 'sending' AND chat = ?1 AND state <> 'sent'),
		EXISTS (SELECT 1 FROM inbox WHERE id = ?2 AND status = ?4) OR EXISTS (SELECT 1 FROM inbox WHERE id = ?5 AND status = ?4),
		?3 > 0 AND EXISTS (SELECT 1 FROM outbox WHERE inbound = ?2 AND sequence = ?3 AND sequence > 0),
		EXISTS (SELECT 1 FROM inbox WHERE id = ?2 AND state = 'running' AND ended = 0 AND owner <> ?6)`,
		[]any{l.chat, l.Inbound, l.Sequence, store.Revoked, l.About, l.member}, &free, &revoked, &again, &lost)
	if err == nil && lost {
		err = fmt.Errorf("%w: another member works on the inbound message", store.ErrState)
	}
	if err != nil || !again || l.Inbound == 0 {
		return free, revoked, nil, err
	}
	said = map[int]bool{}
	err = t.each("SELECT part FROM outbox WHERE inbound = ? AND sequence = ? AND sequence > 0 AND digest = ? AND state <> 'failed'",
		[]any{l.Inbound, l.Sequence, l.digest}, func(scan func(...any) error) error {
			var part int
			err := scan(&part)
			said[part] = true
			return err
		})
	return free, revoked, said, err
}
