package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/gateway/store"
)

// reasonNoAccess is the reason of deliveries that fail because their person has lost access.
const reasonNoAccess = "the sender no longer has access"

// senderCondition is an SQL condition on a row i of inbox: its sender is user ?2 of channel ?1. The
// range of chat keys lets SQLite use the index.
const senderCondition = `i.chat >= ?1 || ':' AND i.chat < ?1 || ';' AND CASE WHEN json_valid(i.incoming)
	THEN i.incoming ->> '$.chat.channel' = ?1 AND i.incoming ->> '$.user.id' = ?2 END`

// Revoke removes the pairing of a user.
func (s *Store) Revoke(ctx context.Context, p store.Person, dismiss bool) (bool, error) {
	now := s.now()
	var n int
	var unused []string
	err := s.change(ctx, fmt.Sprintf("revoke user %s of %s", p.User, p.Channel), func(t *tx) (err error) {
		n, err = t.execCount("DELETE FROM pairing WHERE channel = ? AND user = ?", p.Channel, p.User)
		if err != nil || !dismiss {
			return err
		}
		unused, err = t.dismiss(p, now)
		return err
	})
	if err != nil {
		return false, err
	}
	s.spool.removeCopies(unused)
	return n > 0, nil
}

// Dismiss ends the work of a person who has lost access.
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
	s.spool.removeCopies(unused)
	return nil
}

func (t *tx) dismiss(p store.Person, now time.Time) (unused []string, err error) {
	if err := t.revokeTokens(p.Channel, p.User); err != nil {
		return nil, err
	}
	if err := t.dismissPending(p, now); err != nil {
		return nil, err
	}
	running, err := t.queryIDs("SELECT i.id FROM inbox i WHERE i.state = 'running' AND i.ended = 0 AND "+senderCondition, p.Channel, p.User)
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

// dismissPending ends the person's inbound messages that wait for a turn.
func (t *tx) dismissPending(p store.Person, now time.Time) error {
	var chats []string
	err := t.queryRows("SELECT DISTINCT i.chat FROM inbox i WHERE i.state = 'pending' AND i.ended = 0 AND "+senderCondition, []any{p.Channel, p.User},
		func(scan func(...any) error) error {
			chats = append(chats, "")
			return scan(&chats[len(chats)-1])
		})
	if err != nil || len(chats) == 0 {
		return err
	}
	err = t.exec("UPDATE inbox AS i SET state = 'dead', ended = ?3, status = ?4 WHERE i.state = 'pending' AND i.ended = 0 AND "+senderCondition,
		p.Channel, p.User, micros(now), store.Revoked)
	if err == nil {
		err = t.eraseAnswers()
	}
	if err != nil {
		return err
	}
	for _, chat := range chats {
		if err := t.updateLine(chat); err != nil {
			return err
		}
	}
	return nil
}

// dismissDeliveries fails the person's pending deliveries. A send in progress is marked as dropped:
// the outbox cancels its network call, and it is not repeated.
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
		_, folders, err := t.settleDelivery(id, "", store.Settlement{State: store.Failed, Reason: reasonNoAccess}, now)
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
	return t.queryIDs(`SELECT o.id FROM outbox o JOIN inbox i ON i.id = max(o.inbound, o.about) WHERE o.state <> 'sent' AND o.state = ?3 AND `+senderCondition,
		p.Channel, p.User, state)
}

// queryIDs reads a column of IDs.
func (t *tx) queryIDs(query string, args ...any) ([]int64, error) {
	var all []int64
	err := t.queryRows(query, args, func(scan func(...any) error) error {
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
	return inbounds, deliveries, wrapError("read dismissed work", err)
}

// BusyUnpaired returns the users of a channel who have unfinished work and were not admitted by
// pairing.
func (s *Store) BusyUnpaired(ctx context.Context, channel string) ([]string, error) {
	const selectUser = "SELECT CASE WHEN json_valid(i.incoming) THEN i.incoming ->> '$.user.id' END AS user FROM "
	const onChannel = "i.chat >= ?1 || ':' AND i.chat < ?1 || ';'"
	users, err := queryAll(ctx, s, func(scan func(...any) error) (user string, err error) { return user, scan(&user) },
		"SELECT DISTINCT user FROM ("+
			selectUser+"inbox i WHERE i.state = 'pending' AND i.ended = 0 AND "+onChannel+" UNION ALL "+
			selectUser+"inbox i WHERE i.state = 'running' AND i.ended = 0 AND "+onChannel+" UNION ALL "+
			selectUser+"outbox o JOIN inbox i ON i.id = max(o.inbound, o.about) WHERE o.state = 'pending' AND o.state <> 'sent' AND "+onChannel+
			") WHERE user IS NOT NULL AND user NOT IN (SELECT user FROM pairing WHERE channel = ?1 AND code = '')", channel)
	return users, wrapError("read busy users of %s", err, channel)
}
