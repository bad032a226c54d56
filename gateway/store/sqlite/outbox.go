package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Enqueue stores an outbound message.
func (s *Store) Enqueue(ctx context.Context, l store.Outbound) (store.Delivery, bool, error) {
	what := fmt.Sprintf("enqueue outbound %d of inbound message %d", l.Sequence, l.Inbound)
	prepared, err := s.checkAndPrepare(l)
	if err != nil {
		return store.Delivery{}, false, fmt.Errorf("%s: %w", what, err)
	}
	now := s.now()
	var result enqueueResult
	err = s.change(ctx, what, func(t *tx) (err error) {
		result, err = t.enqueueOutbound(prepared, l.Claim, now)
		return err
	})
	if err != nil {
		return store.Delivery{}, false, err
	}
	s.spool.removeCopies(result.unusedCopies)
	if !result.sending {
		return store.Delivery{}, false, nil
	}
	return store.Delivery{
		ID: result.ids[0], Inbound: l.Inbound, Out: l.Parts[result.first], State: store.Sending, Tries: 1, Queued: fromMicros(micros(now)),
	}, true, nil
}

// enqueueResult is the result of storing an outbound message.
type enqueueResult struct {
	ids          []int64  // the new deliveries
	first        int      // the index of the first stored part
	sending      bool     // whether the first stored part is marked as sending
	unusedCopies []string // folders in the spool that no delivery needs
}

// enqueueOutbound stores an outbound message and adds its entry to the transcript, unless an
// earlier attempt did so.
func (t *tx) enqueueOutbound(l *preparedOutbound, claim bool, now time.Time) (enqueueResult, error) {
	p, err := t.insertDeliveries(l, claim, now)
	if err != nil {
		return enqueueResult{}, err
	}
	repeated := len(l.parts) > 0 && len(p.ids) == 0
	if l.Entry != nil && !repeated {
		if err := t.addEntry(l, now); err != nil {
			return enqueueResult{}, err
		}
	}
	if len(p.ids) < len(l.parts) {
		p.unusedCopies, err = t.unreferencedCopies(l.spool)
	}
	return p, err
}

// NextDelivery marks the oldest pending delivery of a chat as sending.
func (s *Store) NextDelivery(ctx context.Context, chat channels.Chat) (store.Delivery, bool, error) {
	return s.NextDeliveryAfter(ctx, chat, 0)
}

// NextDeliveryAfter marks the oldest pending delivery of a chat as sending that is newer than id.
func (s *Store) NextDeliveryAfter(ctx context.Context, chat channels.Chat, id int64) (store.Delivery, bool, error) {
	var p store.Delivery
	var found bool
	now, key := s.now(), chat.String()
	err := s.change(ctx, "claim the next delivery of "+key, func(t *tx) (err error) {
		p, found, err = t.claimDelivery(key, s.member, id, now)
		return err
	})
	if err != nil {
		return store.Delivery{}, false, err
	}
	return p, found, nil
}

func (t *tx) claimDelivery(chat, member string, after int64, now time.Time) (store.Delivery, bool, error) {
	var one int
	busy, err := t.queryRow("SELECT 1 FROM outbox WHERE state = 'sending' AND chat = ? AND state <> 'sent' LIMIT 1", []any{chat}, &one)
	if err != nil || busy {
		return store.Delivery{}, false, err
	}
	p, found, err := t.queryDelivery("SELECT "+deliveryColumns+` FROM outbox WHERE state = 'pending' AND chat = ? AND state <> 'sent' AND id > ?
		ORDER BY id LIMIT 1`, chat, after)
	if err != nil || !found {
		return store.Delivery{}, false, err
	}
	if now.Before(p.NotBefore) {
		p.Wait = p.NotBefore.Sub(now)
		return p, false, nil
	}
	p.Age = now.Sub(p.Queued)
	p.State, p.Tries = store.Sending, p.Tries+1
	return p, true, t.exec("UPDATE outbox SET state = 'sending', owner = ?, tries = ? WHERE id = ?", member, p.Tries, p.ID)
}

// Settle stores the result of a send.
func (s *Store) Settle(ctx context.Context, id int64, end store.Settlement) (more bool, err error) {
	what := fmt.Sprintf("mark delivery %d %s", id, end.State)
	switch end.State {
	case store.Pending, store.Sent, store.Failed, store.Unknown:
	default:
		return false, fmt.Errorf("%s: %w: a send cannot end in this state", what, store.ErrState)
	}
	now := s.now()
	var unused []string
	err = s.change(ctx, what, func(t *tx) (err error) {
		more, unused, err = t.settleDelivery(id, s.member, end, now)
		return err
	})
	if err != nil {
		return false, err
	}
	s.spool.removeCopies(unused)
	return more, nil
}

// settleDelivery stores the result of a send. It reports whether the chat has pending deliveries
// now, and returns the copies that no delivery needs any more.
func (t *tx) settleDelivery(id int64, member string, end store.Settlement, now time.Time) (more bool, unused []string, err error) {
	var owner string
	var inbound int64
	var dropped, hasCopies bool
	found, err := t.queryRow(`SELECT owner, inbound, dropped, EXISTS (SELECT 1 FROM spooled WHERE delivery = ?1),
		EXISTS (SELECT 1 FROM outbox p WHERE p.state = 'pending' AND p.state <> 'sent' AND p.chat = o.chat AND p.id <> ?1)
		FROM outbox o WHERE id = ?1 AND state IN ('sending', 'pending')`, []any{id}, &owner, &inbound, &dropped, &hasCopies, &more)
	switch {
	case err != nil:
		return false, nil, err
	case !found:
		return false, nil, fmt.Errorf("%w: it is settled already, or there is no such delivery", store.ErrState)
	case owner != "" && owner != member:
		return false, nil, fmt.Errorf("%w: another member has claimed it", store.ErrState)
	case end.State == store.Pending && dropped:
		end.State, end.Reason = store.Failed, reasonNoAccess+"; then: "+end.Reason
	}
	settled, notBefore := micros(now), time.Time{}
	if end.State == store.Pending {
		settled, more = 0, true
		if end.After > 0 {
			notBefore = now.Add(end.After)
		}
	}
	err = t.exec("UPDATE outbox SET state = ?, owner = '', receipt = ?, reason = ?, doubtful = ?, not_before = ?, settled = ? WHERE id = ?",
		end.State, end.Receipt, end.Reason, end.Doubtful, micros(notBefore), settled, id)
	if err != nil || end.State == store.Pending {
		return more, nil, err
	}
	if inbound == outsiderInbound {
		if err := t.exec("DELETE FROM outbox WHERE id = ?", id); err != nil {
			return false, nil, err
		}
	}
	if hasCopies {
		unused, err = t.dereferenceCopies(id)
	}
	return more, unused, err
}

// ChatsToSend returns chats with pending deliveries. The query jumps from chat to chat, so that a
// long queue of one chat costs no more than a short one.
func (s *Store) ChatsToSend(ctx context.Context, after string, n int) ([]channels.Chat, error) {
	chats, err := queryAll(ctx, s, scanChat, `WITH RECURSIVE chats (chat, n) AS (
			SELECT (SELECT min(chat) FROM outbox WHERE state = 'pending' AND state <> 'sent' AND chat > ?1), 1
			UNION ALL
			SELECT (SELECT min(o.chat) FROM outbox o WHERE o.state = 'pending' AND o.state <> 'sent' AND o.chat > chats.chat), n + 1
			FROM chats WHERE chats.chat IS NOT NULL AND n < ?2)
		SELECT chat FROM chats WHERE chat IS NOT NULL LIMIT ?2`, after, max(n, 0))
	return chats, wrapError("read chats to send to", err)
}

func scanChat(scan func(...any) error) (channels.Chat, error) {
	var key string
	err := scan(&key)
	return chatOf(key), err
}

func chatOf(key string) channels.Chat {
	channel, id, _ := strings.Cut(key, ":")
	return channels.Chat{Channel: channel, ID: id}
}

// Undelivered returns the newest deliveries of a chat that are not sent.
func (s *Store) Undelivered(ctx context.Context, chat channels.Chat, n int) ([]store.Delivery, error) {
	key, which := chat.String(), "AND chat = ?1"
	if chat == (channels.Chat{}) {
		which = "AND ?1 IS NOT NULL"
	}
	var states []string
	for _, state := range []string{"pending", "failed", "unknown"} {
		states = append(states, "SELECT * FROM (SELECT "+deliveryColumns+" FROM outbox WHERE state = '"+state+
			"' "+which+" AND state <> 'sent' ORDER BY id DESC LIMIT ?2)")
	}
	query := strings.Join(states, " UNION ALL ") + " ORDER BY id DESC LIMIT ?2"
	deliveries, err := queryAll(ctx, s, scanDelivery, query, key, max(n, 0))
	return deliveries, wrapError("read deliveries not sent to %s", err, chat)
}
