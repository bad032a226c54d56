package sqlite

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// letter is a store.Letter made ready for the writer, so that nothing slow happens in the
// transaction.
type letter struct {
	store.Letter
	chat   string
	digest []byte     // of all parts; empty when the letter has no place
	parts  []string   // the parts as JSON
	spool  [][]string // the spool's folders that each part needs
}

func (s *Store) letter(l store.Letter, chat channels.Chat) letter {
	made := letter{Letter: l, chat: chat.String(), digest: []byte{}}
	for _, o := range l.Parts {
		made.parts = append(made.parts, text(o))
		made.spool = append(made.spool, s.spool.folders(o))
	}
	if l.Place > 0 {
		made.digest = s.spool.digest(l.Parts)
	}
	return made
}

// letters makes each part a letter of its own.
func (s *Store) letters(parts []channels.Outgoing) []letter {
	all := make([]letter, len(parts))
	for i, o := range parts {
		all[i] = s.letter(store.Letter{Parts: parts[i : i+1]}, o.Chat)
	}
	return all
}

// enqueueAll stores letters that answer an item, or 0.
func (t *tx) enqueueAll(letters []letter, item int64, now time.Time) error {
	for _, l := range letters {
		l.Item = item
		if _, err := t.enqueue(l, false, now); err != nil {
			return err
		}
	}
	return nil
}

// sealed checks that a letter goes to one chat, and makes it ready.
func (s *Store) sealed(l store.Letter) (letter, error) {
	if len(l.Parts) == 0 {
		return letter{Letter: l}, nil
	}
	chat := l.Parts[0].Chat
	for _, o := range l.Parts {
		if o.Chat != chat {
			return letter{}, fmt.Errorf("a letter goes to one chat, not to %s and %s", chat, o.Chat)
		}
	}
	return s.letter(l, chat), nil
}

// digest tells whether two attempts say the same. A file's copy is named by what is in it, not by
// where this copy lies; and which bubble a part takes the place of says nothing.
func (s spool) digest(parts []channels.Outgoing) []byte {
	h := sha256.New()
	for _, o := range parts {
		files := make([]channels.File, len(o.Media))
		copy(files, o.Media)
		o.Media, o.Replace = files, ""
		for i, f := range files {
			content, ok := s.content(f.Path)
			if !ok {
				continue
			}
			files[i].Path = content
			o.Form = bytes.ReplaceAll(o.Form, []byte(f.Path), []byte(content))
		}
		fmt.Fprintf(h, "%s\n", text(o))
	}
	return h.Sum(nil)[:16]
}

// enqueue stores the parts that were not put at the same place by an earlier attempt. The first is
// marked sending if that is claimed and nothing of the chat is pending or sending.
func (t *tx) enqueue(l letter, claim bool, now time.Time) (posted, error) {
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
		state, tries := store.Pending, 0
		if p.ids == nil {
			p.first, p.sending = n, claim && free
			if p.sending {
				state, tries = store.Sending, 1
			}
		}
		id, err := t.insert(`INSERT INTO outbox (item, about, place, part, digest, chat, state, tries, queued, outgoing)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, l.Item, l.About, l.Place, n, l.digest, l.chat, state, tries, micros(now), l.parts[n])
		if err != nil {
			return p, err
		}
		p.ids = append(p.ids, id)
		if err := t.need(l.spool[n], id); err != nil {
			return p, err
		}
		if bubble := l.Parts[n].Replace; bubble != "" {
			if err := t.dropBubble(l.chat, bubble); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// before says whether a letter's chat is free, whether the sender of its item has lost access, and
// which of its parts an earlier attempt has put at the same place: those that were sent or still
// may be.
func (t *tx) before(l letter) (free, revoked bool, said map[int]bool, err error) {
	var again bool
	_, err = t.row(`SELECT NOT EXISTS (SELECT 1 FROM outbox WHERE state = 'pending' AND chat = ?1 AND state <> 'sent')
			AND NOT EXISTS (SELECT 1 FROM outbox WHERE state = 'sending' AND chat = ?1 AND state <> 'sent'),
		EXISTS (SELECT 1 FROM inbox WHERE id IN (?2, ?5) AND status = ?4),
		?3 > 0 AND EXISTS (SELECT 1 FROM outbox WHERE item = ?2 AND place = ?3 AND place > 0)`,
		[]any{l.chat, l.Item, l.Place, store.Revoked, l.About}, &free, &revoked, &again)
	if err != nil || !again || l.Item == 0 {
		return free, revoked, nil, err
	}
	said = map[int]bool{}
	err = t.each("SELECT part FROM outbox WHERE item = ? AND place = ? AND place > 0 AND digest = ? AND state <> 'failed'",
		[]any{l.Item, l.Place, l.digest}, func(scan func(...any) error) error {
			var part int
			err := scan(&part)
			said[part] = true
			return err
		})
	return free, revoked, said, err
}
