package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// Enqueue stores an outbound message.
func (s outbox) Enqueue(ctx context.Context, outbound store.Outbound) (store.Delivery, bool, error) {
	what := fmt.Sprintf("enqueue outbound %d of inbound message %d", outbound.Sequence, outbound.Inbound)
	made, err := prepared.NewOutbound(outbound, s.member)
	if err != nil {
		return store.Delivery{}, false, fmt.Errorf("%s: %w", what, err)
	}
	now := s.now()
	result, err := changed(ctx, s.state, what,
		func(t *tx) enqueueResult { return enqueueOutbound(t, made, outbound.Claim, now) })
	if err != nil {
		return store.Delivery{}, false, err
	}
	s.spool.Remove(result.unusedCopies)
	if !result.sending {
		return store.Delivery{}, false, nil
	}
	return store.Delivery{
		ID: result.ids[0], Inbound: outbound.Inbound, Out: outbound.Parts[result.first], State: store.Sending, Tries: 1,
		Queued: fromMicros(micros(now)),
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
func enqueueOutbound(t *tx, l *prepared.Outbound, claim bool, now time.Time) enqueueResult {
	result := insertDeliveries(t, l, claim, now)
	repeated := len(l.Encoded) > 0 && len(result.ids) == 0
	if l.Entry != nil && !repeated {
		var first int64
		if len(result.ids) > 0 {
			first = result.ids[0]
		}
		addEntry(t, l.Inbound, *l.Entry, first, now)
	}
	if len(result.ids) < len(l.Encoded) {
		result.unusedCopies = unreferencedCopies(t, slices.Concat(l.Copies...))
	}
	return result
}

// NextDelivery marks the oldest pending delivery of a chat as sending that is newer than another.
func (s outbox) NextDelivery(ctx context.Context, chat channels.Chat, after int64) (store.Delivery, bool, error) {
	now, key := s.now(), chat.String()
	return changedPair(ctx, s.state, "claim the next delivery of "+key,
		func(t *tx) (store.Delivery, bool) { return claimDelivery(t, key, s.member, after, now) })
}

func claimDelivery(t *tx, chat, member string, after int64, now time.Time) (store.Delivery, bool) {
	if t.exists("SELECT 1 FROM outbox WHERE state = 'sending' AND chat = ? AND state <> 'sent' LIMIT 1", chat) {
		return store.Delivery{}, false
	}
	pending := queryAllTx(t, scanDelivery, selectDelivery+
		"state = 'pending' AND chat = ? AND state <> 'sent' AND id > ? ORDER BY id LIMIT 1", chat, after)
	if len(pending) == 0 {
		return store.Delivery{}, false
	}
	delivery := pending[0]
	if now.Before(delivery.NotBefore) {
		delivery.Wait = delivery.NotBefore.Sub(now)
		return delivery, false
	}
	delivery.Age = now.Sub(delivery.Queued)
	delivery.State, delivery.Tries = store.Sending, delivery.Tries+1
	t.exec("UPDATE outbox SET state = 'sending', owner = ?, tries = ? WHERE id = ?", member, delivery.Tries, delivery.ID)
	return delivery, true
}

// Settle stores the result of a send.
func (s outbox) Settle(ctx context.Context, id int64, end store.Settlement) (more bool, err error) {
	what := fmt.Sprintf("mark delivery %d %s", id, end.State)
	switch end.State {
	case store.Pending, store.Sent, store.Failed, store.Unknown:
	default:
		return false, fmt.Errorf("%s: %w: a send cannot end in this state", what, store.ErrState)
	}
	now := s.now()
	more, unused, err := changedPair(ctx, s.state, what,
		func(t *tx) (bool, []string) { return settleDelivery(t, id, s.member, end, now) })
	s.spool.Remove(unused)
	return more, err
}

// settleDelivery stores the result of a send. It reports whether the chat has pending deliveries
// now, and returns the copies that no delivery needs any more.
func settleDelivery(t *tx, id int64, member string, end store.Settlement, now time.Time) (more bool, unused []string) {
	var owner string
	var inbound int64
	var dropped, hasCopies bool
	found := t.queryRow(`SELECT owner, inbound, dropped, EXISTS (SELECT 1 FROM spooled WHERE delivery = ?1),
		EXISTS (SELECT 1 FROM outbox p WHERE p.state = 'pending' AND p.state <> 'sent' AND p.chat = o.chat AND p.id <> ?1)
		FROM outbox o WHERE id = ?1 AND state IN ('sending', 'pending')`, []any{id}, &owner, &inbound, &dropped, &hasCopies,
		&more)
	switch {
	case !found:
		t.fail(fmt.Errorf("%w: it is settled already, or there is no such delivery", store.ErrState))
	case owner != "" && owner != member:
		t.fail(store.ErrFenced)
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
	t.exec("UPDATE outbox SET state = ?, owner = '', receipt = ?, reason = ?, doubtful = ?, not_before = ?, settled = ? "+
		"WHERE id = ?",
		end.State, end.Receipt, end.Reason, end.Doubtful, micros(notBefore), settled, id)
	if end.State == store.Pending {
		return more, nil
	}
	if inbound == outsiderInbound {
		t.exec("DELETE FROM outbox WHERE id = ?", id)
	}
	if hasCopies && !end.Resendable {
		unused = dereferenceCopies(t, id)
	}
	return more, unused
}

// isResendable is the condition for a delivery that failed, and whose person did not lose access.
const isResendable = " WHERE id = ? AND chat = ? AND state = 'failed' AND NOT dropped"

// resendDelivery makes a failed delivery of a chat pending again.
func resendDelivery(t *tx, chat string, id int64) {
	t.exec("UPDATE outbox SET state = 'pending', tries = 0, not_before = 0, settled = 0"+isResendable, id, chat)
}

// IsResendable reports whether a delivery of a chat can be sent again.
func (s outbox) IsResendable(ctx context.Context, chat channels.Chat, id int64) (bool, error) {
	return readValue[bool](ctx, s.state, fmt.Sprintf("look up delivery %d of %s", id, chat),
		"SELECT EXISTS (SELECT 1 FROM outbox"+isResendable+")", id, chat.String())
}

// ChatsToSend returns chats with pending deliveries. The query jumps from chat to chat, so that a
// long queue of one chat costs no more than a short one.
func (s outbox) ChatsToSend(ctx context.Context, after string, n int) ([]channels.Chat, error) {
	return readAll(ctx, s.state, "read chats to send to", scanChat, `WITH RECURSIVE chats (chat, n) AS (
			SELECT (SELECT min(chat) FROM outbox WHERE state = 'pending' AND state <> 'sent' AND chat > ?1), 1
			UNION ALL
			SELECT (SELECT min(o.chat) FROM outbox o WHERE o.state = 'pending' AND o.state <> 'sent'
				AND o.chat > chats.chat), n + 1
			FROM chats WHERE chats.chat IS NOT NULL AND n < ?2)
		SELECT chat FROM chats WHERE chat IS NOT NULL LIMIT ?2`, after, max(n, 0))
}

func scanChat(scan func(...any) error) (chat channels.Chat, err error) {
	return chat, scan(chatColumn{&chat})
}

func chatOf(key string) channels.Chat {
	chat, _ := channels.ParseChat(key)
	return chat
}

// Undelivered returns the newest deliveries of a chat that are not sent.
func (s outbox) Undelivered(ctx context.Context, chat channels.Chat, n int) ([]store.Delivery, error) {
	key, which := chat.String(), "AND chat = ?1"
	if chat == (channels.Chat{}) {
		which = "AND ?1 IS NOT NULL"
	}
	var states []string
	for _, state := range []string{"pending", "failed", "unknown"} {
		states = append(states, "SELECT * FROM ("+selectDelivery+"state = '"+state+
			"' "+which+" AND state <> 'sent' ORDER BY id DESC LIMIT ?2)")
	}
	query := strings.Join(states, " UNION ALL ") + " ORDER BY id DESC LIMIT ?2"
	return readAll(ctx, s.state, "read deliveries not sent to "+key, scanDelivery, query, key, max(n, 0))
}
