package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Enqueue stores an outbound message.
func (s outbox) Enqueue(ctx context.Context, outbound store.Outbound) (store.Delivery, bool, error) {
	what := fmt.Sprintf("enqueue outbound %d of inbound message %d", outbound.Sequence, outbound.Inbound)
	prepared, err := checkAndPrepare(outbound)
	if err != nil {
		return store.Delivery{}, false, fmt.Errorf("%s: %w", what, err)
	}
	var result struct {
		IDs     []int64
		First   int
		Sending bool
		Queued  time.Time
		Unused  []string
	}
	err = s.change(ctx, changeRequest{
		what: what, function: "enqueue", scope: ofOutbound(prepared.Chat, outbound.Inbound, outbound.About),
		args: map[string]any{"outbound": prepared, "inbound": outbound.Inbound, "claim": outbound.Claim},
	}, &result)
	s.spool.Remove(result.Unused)
	if err != nil || !result.Sending {
		return store.Delivery{}, false, err
	}
	s.sending.add(result.IDs[0])
	return store.Delivery{
		ID: result.IDs[0], Inbound: outbound.Inbound, Out: outbound.Parts[result.First], State: store.Sending, Tries: 1,
		Queued: result.Queued,
	}, true, nil
}

// ofOutbound is the scope of an outbound message to a chat, which answers an inbound message and is
// about another one: whether their senders have access is decided with their chats locked.
func ofOutbound(chat string, inbound, about int64) scope {
	return scope{"outbound", encodeJSON([]any{chat, inbound, about})}
}

// NextDelivery marks the oldest pending delivery of a chat as sending that is newer than another.
func (s outbox) NextDelivery(ctx context.Context, chat channels.Chat, after int64) (store.Delivery, bool, error) {
	var next struct {
		Delivery  store.Delivery
		Wait, Age int64 // microseconds
	}
	err := s.change(ctx, changeRequest{
		what: "claim the next delivery of " + chat.String(), function: "next_delivery", scope: ofChat(chat), found: true,
		args: map[string]any{"chat": chat.String(), "after": after},
	}, &next)
	delivery, sending := next.Delivery, next.Delivery.State == store.Sending
	if sending {
		s.sending.add(delivery.ID)
		delivery.Age = time.Duration(next.Age) * time.Microsecond
	} else {
		delivery.Wait = time.Duration(next.Wait) * time.Microsecond
	}
	return delivery, sending, err
}

// Settle stores the result of a send.
func (s outbox) Settle(ctx context.Context, id int64, end store.Settlement) (more bool, err error) {
	what := fmt.Sprintf("mark delivery %d %s", id, end.State)
	switch end.State {
	case store.Pending, store.Sent, store.Failed, store.Unknown:
	default:
		return false, fmt.Errorf("%s: %w: a send cannot end in this state", what, store.ErrState)
	}
	var result struct {
		More   bool
		Unused []string
	}
	err = s.change(ctx, changeRequest{
		what: what, function: "settle", scope: scope{"delivery", strconv.FormatInt(id, 10)},
		args: map[string]any{
			"id": id, "state": end.State, "receipt": end.Receipt, "reason": end.Reason, "doubtful": end.Doubtful,
			"after": end.After.Microseconds(), "resendable": end.Resendable,
		},
	}, &result)
	s.spool.Remove(result.Unused)
	if err == nil || errors.Is(err, store.ErrState) {
		s.sending.remove(id)
	}
	return result.More, err
}

// IsResendable reports whether a delivery of a chat can be sent again.
func (s outbox) IsResendable(ctx context.Context, chat channels.Chat, id int64) (bool, error) {
	return readValue[bool](ctx, s.state, fmt.Sprintf("look up delivery %d of %s", id, chat),
		"SELECT to_json(is_resendable(o, $2)) FROM outbox o WHERE id = $1", id, chat.String())
}

// ChatsToSend returns chats with pending deliveries. The query jumps from chat to chat, so that a
// long queue of one chat costs no more than a short one.
func (s outbox) ChatsToSend(ctx context.Context, after string, n int) ([]channels.Chat, error) {
	keys, err := readAll[string](ctx, s.state, "read chats to send to", `WITH RECURSIVE chats (chat, n) AS (
			SELECT (SELECT min(chat) FROM outbox WHERE state = 'pending' AND state <> 'sent' AND chat > $1::word), 1
			UNION ALL
			SELECT (SELECT min(o.chat) FROM outbox o WHERE o.state = 'pending' AND o.state <> 'sent'
				AND o.chat > chats.chat), n + 1
			FROM chats WHERE chats.chat IS NOT NULL AND n < $2)
		SELECT to_json(chat) FROM chats WHERE chat IS NOT NULL LIMIT $2`, after, max(n, 0))
	all := make([]channels.Chat, len(keys))
	for i, key := range keys {
		all[i], _ = channels.ParseChat(key)
	}
	return all, err
}

// Undelivered returns the newest deliveries of a chat that are not sent.
func (s outbox) Undelivered(ctx context.Context, chat channels.Chat, n int) ([]store.Delivery, error) {
	which := "chat = $1"
	if chat == (channels.Chat{}) {
		which = "$1 <> ''"
	}
	return readAll[store.Delivery](ctx, s.state, "read deliveries not sent to "+chat.String(), `SELECT delivery_json(o)
		FROM outbox o WHERE state IN ('pending', 'failed', 'unknown') AND state <> 'sent' AND `+which+`
		ORDER BY id DESC LIMIT $2`, chat.String(), max(n, 0))
}
