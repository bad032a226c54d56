package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/gateway/store"
)

// noAccess is why a delivery is not sent to somebody who has lost access.
const noAccess = "the sender no longer has access"

// sentBy is a condition on a row of inbox: that its sender is user ?2 of channel ?1. The range of
// keys narrows the index down.
const sentBy = `i.chat >= ?1 || ':' AND i.chat < ?1 || ';' AND CASE WHEN json_valid(i.incoming)
	THEN i.incoming ->> '$.chat.channel' = ?1 AND i.incoming ->> '$.user.id' = ?2 END`

// Revoke forgets a paired user.
func (s *Store) Revoke(ctx context.Context, p store.Person, dismiss bool) (bool, error) {
	now := s.now()
	var n int
	var unused []string
	err := s.change(ctx, fmt.Sprintf("revoke user %s of %s", p.User, p.Channel), func(t *tx) (err error) {
		n, err = t.changed("DELETE FROM pairing WHERE channel = ? AND user = ?", p.Channel, p.User)
		if err != nil || !dismiss {
			return err
		}
		unused, err = t.dismiss(p, now)
		return err
	})
	if err != nil {
		return false, err
	}
	s.spool.remove(unused)
	return n > 0, nil
}

// Dismiss ends the work of somebody who has lost access.
func (s *Store) Dismiss(ctx context.Context, p store.Person) error {
	now := s.now()
	var unused []string
	err := s.change(ctx, fmt.Sprintf("dismiss user %s of %s", p.User, p.Channel), func(t *tx) (err error) {
		unused, err = t.dismiss(p, now)
		return err
	})
	if err != nil {
		return err
	}
	s.spool.remove(unused)
	return nil
}

func (t *tx) dismiss(p store.Person, now time.Time) (unused []string, err error) {
	if err := t.revokeTokens(p.Channel, p.User); err != nil {
		return nil, err
	}
	if err := t.dismissPending(p, now); err != nil {
		return nil, err
	}
	running, err := t.ids("SELECT i.id FROM inbox i WHERE i.state = 'running' AND i.ended = 0 AND "+sentBy, p.Channel, p.User)
	if err != nil {
		return nil, err
	}
	for _, id := range running {
		if err := t.exec("UPDATE inbox SET status = ? WHERE id = ?", store.Revoked, id); err != nil {
			return nil, err
		}
		if err := t.closeQuestions(id, now); err != nil {
			return nil, err
		}
	}
	return t.dismissDeliveries(p, now)
}

// dismissPending ends what waits for a turn.
func (t *tx) dismissPending(p store.Person, now time.Time) error {
	var chats []string
	err := t.each("SELECT DISTINCT i.chat FROM inbox i WHERE i.state = 'pending' AND i.ended = 0 AND "+sentBy, []any{p.Channel, p.User},
		func(scan func(...any) error) error {
			chats = append(chats, "")
			return scan(&chats[len(chats)-1])
		})
	if err != nil || len(chats) == 0 {
		return err
	}
	err = t.exec("UPDATE inbox AS i SET state = 'dead', ended = ?3, status = ?4 WHERE i.state = 'pending' AND i.ended = 0 AND "+sentBy,
		p.Channel, p.User, micros(now), store.Revoked)
	if err != nil {
		return err
	}
	for _, chat := range chats {
		if err := t.rejoin(chat); err != nil {
			return err
		}
	}
	return nil
}

// dismissDeliveries fails what is not sent yet. A send that is under way cannot be called back, but
// is not repeated.
func (t *tx) dismissDeliveries(p store.Person, now time.Time) (unused []string, err error) {
	sending, err := t.deliveriesFor(p, store.Sending)
	if err != nil {
		return nil, err
	}
	for _, id := range sending {
		if err := t.exec("UPDATE outbox SET dropped = 1 WHERE id = ?", id); err != nil {
			return nil, err
		}
	}
	pending, err := t.deliveriesFor(p, store.Pending)
	if err != nil {
		return nil, err
	}
	for _, id := range pending {
		folders, err := t.settle(id, store.Settlement{State: store.Failed, Reason: noAccess}, now)
		if err != nil {
			return nil, err
		}
		unused = append(unused, folders...)
	}
	return unused, nil
}

// deliveriesFor finds the deliveries in a state that answer a person's inbound messages or are
// about them.
func (t *tx) deliveriesFor(p store.Person, state store.State) ([]int64, error) {
	return t.ids(`SELECT o.id FROM outbox o JOIN inbox i ON i.id = max(o.inbound, o.about) WHERE o.state <> 'sent' AND o.state = ?3 AND `+sentBy,
		p.Channel, p.User, state)
}

// ids reads a column of ids.
func (t *tx) ids(query string, args ...any) ([]int64, error) {
	var all []int64
	err := t.each(query, args, func(scan func(...any) error) error {
		all = append(all, 0)
		return scan(&all[len(all)-1])
	})
	return all, err
}

// Dismissed returns the running inbound messages and the deliveries being sent of people who have
// lost access.
func (s *Store) Dismissed(ctx context.Context) (inbounds, deliveries []int64, err error) {
	id := func(scan func(...any) error) (id int64, err error) { return id, scan(&id) }
	inbounds, err = queryAll(ctx, s, id, "SELECT id FROM inbox WHERE state = 'running' AND ended = 0 AND status = ? ORDER BY id", store.Revoked)
	if err == nil {
		deliveries, err = queryAll(ctx, s, id, "SELECT id FROM outbox WHERE state = 'sending' AND state <> 'sent' AND dropped = 1 ORDER BY id")
	}
	return inbounds, deliveries, wrapError("read what is dismissed", err)
}

// BusyUnpaired returns the users of a channel who have work that is not done, and were not let in
// by pairing.
func (s *Store) BusyUnpaired(ctx context.Context, channel string) ([]string, error) {
	const who = "SELECT CASE WHEN json_valid(i.incoming) THEN i.incoming ->> '$.user.id' END AS user FROM "
	const here = "i.chat >= ?1 || ':' AND i.chat < ?1 || ';'"
	users, err := queryAll(ctx, s, func(scan func(...any) error) (user string, err error) { return user, scan(&user) },
		"SELECT DISTINCT user FROM ("+
			who+"inbox i WHERE i.state = 'pending' AND i.ended = 0 AND "+here+" UNION ALL "+
			who+"inbox i WHERE i.state = 'running' AND i.ended = 0 AND "+here+" UNION ALL "+
			who+"outbox o JOIN inbox i ON i.id = max(o.inbound, o.about) WHERE o.state = 'pending' AND o.state <> 'sent' AND "+here+
			") WHERE user IS NOT NULL AND user NOT IN (SELECT user FROM pairing WHERE channel = ?1 AND code = '')", channel)
	return users, wrapError("read who is busy on %s", err, channel)
}
