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
	made, err := s.sealed(l)
	if err != nil {
		return store.Delivery{}, false, fmt.Errorf("%s: %w", what, err)
	}
	now := s.now()
	var sent posted
	err = s.change(ctx, what, func(t *tx) (err error) {
		sent, err = t.post(made, l.Claim, now)
		return err
	})
	if err != nil {
		return store.Delivery{}, false, err
	}
	s.spool.remove(sent.unused)
	if !sent.sending {
		return store.Delivery{}, false, nil
	}
	return store.Delivery{
		ID: sent.ids[0], Inbound: l.Inbound, Out: l.Parts[sent.first], State: store.Sending, Tries: 1, Queued: fromMicros(micros(now)),
	}, true, nil
}

// posted is what became of an outbound message.
type posted struct {
	ids     []int64  // of the new deliveries
	first   int      // which part the first of them is
	sending bool     // whether that is marked sending
	unused  []string // folders of the spool that the outbound message brought along in vain
}

// post enqueues an outbound message and adds its entry to the transcript, unless an earlier attempt
// did.
func (t *tx) post(l outbound, claim bool, now time.Time) (posted, error) {
	p, err := t.enqueue(l, claim, now)
	if err != nil {
		return posted{}, err
	}
	said := len(l.parts) > 0 && len(p.ids) == 0
	if l.Entry != nil && !said {
		if err := t.write(l, now); err != nil {
			return posted{}, err
		}
	}
	if len(p.ids) < len(l.parts) {
		p.unused, err = t.unneeded(l.spool)
	}
	return p, err
}

// NextDelivery marks the oldest pending delivery of a chat sending.
func (s *Store) NextDelivery(ctx context.Context, chat channels.Chat) (store.Delivery, bool, error) {
	var p store.Delivery
	var found bool
	now, key := s.now(), chat.String()
	err := s.change(ctx, "take the next delivery of "+key, func(t *tx) (err error) {
		p, found, err = t.next(key, s.member, now)
		return err
	})
	if err != nil {
		return store.Delivery{}, false, err
	}
	return p, found, nil
}

func (t *tx) next(chat, member string, now time.Time) (store.Delivery, bool, error) {
	var one int
	busy, err := t.row("SELECT 1 FROM outbox WHERE state = 'sending' AND chat = ? AND state <> 'sent' LIMIT 1", []any{chat}, &one)
	if err != nil || busy {
		return store.Delivery{}, false, err
	}
	p, found, err := t.delivery("SELECT "+deliveryColumns+` FROM outbox WHERE state = 'pending' AND chat = ? AND state <> 'sent'
		ORDER BY id LIMIT 1`, chat)
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

// Settle records how a send ended.
func (s *Store) Settle(ctx context.Context, id int64, end store.Settlement) (more bool, err error) {
	what := fmt.Sprintf("mark delivery %d %s", id, end.State)
	switch end.State {
	case store.Pending, store.Sent, store.Failed, store.Unknown:
	default:
		return false, fmt.Errorf("%s: %w: that is no way for a send to end", what, store.ErrState)
	}
	now := s.now()
	var unused []string
	err = s.change(ctx, what, func(t *tx) (err error) {
		chat, err := t.settleable(id, s.member)
		if err != nil {
			return err
		}
		if unused, err = t.settle(id, end, now); err != nil {
			return err
		}
		_, err = t.row("SELECT EXISTS (SELECT 1 FROM outbox WHERE state = 'pending' AND state <> 'sent' AND chat = ?)", []any{chat}, &more)
		return err
	})
	if err != nil {
		return false, err
	}
	s.spool.remove(unused)
	return more, nil
}

// settleable returns the chat of a delivery that a member may settle.
func (t *tx) settleable(id int64, member string) (chat string, err error) {
	var owner string
	if _, err = t.row("SELECT chat, owner FROM outbox WHERE id = ?", []any{id}, &chat, &owner); err != nil {
		return "", err
	}
	if owner != "" && owner != member {
		return "", fmt.Errorf("%w: another member has claimed it", store.ErrState)
	}
	return chat, nil
}

func (t *tx) settle(id int64, end store.Settlement, now time.Time) ([]string, error) {
	if end.State == store.Pending {
		var dropped bool
		if _, err := t.row("SELECT dropped FROM outbox WHERE id = ?", []any{id}, &dropped); err != nil {
			return nil, err
		}
		if dropped {
			end.State, end.Reason = store.Failed, noAccess+"; then: "+end.Reason
		}
	}
	settled, notBefore := micros(now), time.Time{}
	if end.State == store.Pending {
		settled = 0
		if end.After > 0 {
			notBefore = now.Add(end.After)
		}
	}
	n, err := t.changed(`UPDATE outbox SET state = ?, owner = '', receipt = ?, reason = ?, doubtful = ?, not_before = ?, settled = ?
		WHERE id = ? AND state IN ('sending', 'pending')`,
		end.State, end.Receipt, end.Reason, end.Doubtful, micros(notBefore), settled, id)
	switch {
	case err != nil:
		return nil, err
	case n == 0:
		return nil, fmt.Errorf("%w: it is settled already, or there is no such delivery", store.ErrState)
	case end.State == store.Pending:
		return nil, nil
	}
	if err := t.exec("DELETE FROM outbox WHERE id = ? AND inbound = ?", id, ofStranger); err != nil {
		return nil, err
	}
	return t.release(id)
}

// ChatsToSend returns chats with pending deliveries. It jumps from chat to chat, so that a long
// queue of one costs no more than a short one.
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

// Undelivered returns the newest deliveries of a chat that were not sent.
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
