package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Cursor returns the stored cursor of a channel.
func (s *Store) Cursor(ctx context.Context, channel string) (string, error) {
	var value string
	if _, err := s.queryRow(ctx, "SELECT value FROM cursor WHERE channel = ?", []any{channel}, &value); err != nil {
		return "", fmt.Errorf("read the cursor of %s: %w", channel, err)
	}
	return value, nil
}

// SetCursor stores the cursor of a channel.
func (s *Store) SetCursor(ctx context.Context, channel, cursor string) error {
	return s.change(ctx, "move the cursor of "+channel, func(t *tx) error { return t.setCursor(channel, cursor) })
}

func (t *tx) setCursor(channel, cursor string) error {
	return t.exec("INSERT INTO cursor (channel, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", channel, cursor)
}

// Receive stores an inbound message once.
func (s *Store) Receive(ctx context.Context, a store.ReceiveRequest) (store.ReceiveResult, error) {
	now := s.now()
	if a.Remember.Key != "" || a.StartConversation {
		s.chatsWithMemories.add(a.In.Chat.String())
	}
	var part channels.Part
	part, a.In = extractPart(a.In)
	if err := s.dropErasedQuote(ctx, &a.In); err != nil {
		return store.ReceiveResult{}, err
	}
	stored := a.In
	if a.Secret {
		a.Settle, stored = true, withoutText(a.In)
	}
	r := preparedReceive{ReceiveRequest: a, part: part, member: s.member, now: now, incoming: encodeJSON(&stored), answer: s.prepareEach(a.Answer)}
	var result store.ReceiveResult
	err := s.change(ctx, fmt.Sprintf("receive message %s of %s", a.In.ID, a.In.Chat), func(t *tx) (err error) {
		result, err = t.receiveMessage(r)
		return err
	})
	if err != nil {
		return store.ReceiveResult{}, err
	}
	return result, nil
}

// preparedReceive is a store.ReceiveRequest that was encoded before the transaction, so that the
// writer does nothing slow.
type preparedReceive struct {
	store.ReceiveRequest
	part     channels.Part
	member   string
	now      time.Time
	incoming string
	answer   []*preparedOutbound
}

func (t *tx) receiveMessage(r preparedReceive) (store.ReceiveResult, error) {
	chat, err := t.readChatState(r.In)
	if err != nil {
		return store.ReceiveResult{}, err
	}
	if chat.duplicate {
		before, _, err := t.queryInbound("SELECT "+inboundColumns+" FROM inbox WHERE id = ?", chat.duplicateOf)
		if err != nil {
			return store.ReceiveResult{}, err
		}
		if err := t.completeParts(r.In.Chat, r.part, before.ID, r.now); err != nil {
			return store.ReceiveResult{}, err
		}
		return store.ReceiveResult{Inbound: before, Disposition: store.Duplicate}, t.moveCursor(r)
	}
	replied := false
	if r.Reply != nil {
		n, err := t.answerQuestion(*r.Reply, r.now)
		if err != nil {
			return store.ReceiveResult{}, err
		}
		replied = n > 0
		r.Settle = r.Settle || replied
	}
	if result, joined, err := t.joinMessage(r, chat); joined || err != nil {
		return result, err
	}
	result := decideDisposition(r, chat)
	result.Replied = replied
	if result.Disposition == store.Busy || result.Disposition == store.Full {
		return result, nil
	}
	if result.Released, err = t.releaseGathering(r.In, chat); err != nil {
		return store.ReceiveResult{}, err
	}
	if err := t.insertInbound(&result, r, chat.token); err != nil {
		return store.ReceiveResult{}, err
	}
	if err := t.completeParts(r.In.Chat, r.part, result.Inbound.ID, r.now); err != nil {
		return store.ReceiveResult{}, err
	}
	if r.Secret {
		t.erased = t.erased || r.part.Last // the text was stored with its parts
		if result.Secrets, err = t.recordSecrets(result.Inbound); err != nil {
			return store.ReceiveResult{}, err
		}
	}
	if err := t.insertOutbounds(r.answer, result.Inbound.ID, r.now); err != nil {
		return store.ReceiveResult{}, err
	}
	if err := t.applyRequests(r.ReceiveRequest, r.now); err != nil {
		return store.ReceiveResult{}, err
	}
	if r.Choose != nil {
		n, err := t.answerQuestion(*r.Choose, r.now)
		if err != nil {
			return store.ReceiveResult{}, err
		}
		result.Chosen = n > 0
	}
	return result, t.moveCursor(r)
}

// moveCursor stores the cursor of a message in the message's own transaction.
func (t *tx) moveCursor(r preparedReceive) error {
	if r.Cursor == "" {
		return nil
	}
	return t.setCursor(r.In.Chat.Channel, r.Cursor)
}

// chatState is the state of a chat when one of its messages is received.
type chatState struct {
	duplicate   bool
	duplicateOf int64 // the earlier inbound message of a duplicate; 0 if it was pruned or refused
	waiting     int
	running     int64  // the inbound message that runs, or 0
	runner      string // the member that runs it
	token       string // "": the chat has none yet
}

// readChatState reads the state of a message's chat. A message without an ID is never a duplicate.
func (t *tx) readChatState(in channels.Incoming) (c chatState, err error) {
	_, err = t.queryRow(`SELECT coalesce(s.inbound, 0), ?2 <> '' AND (s.inbound IS NOT NULL OR EXISTS (SELECT 1 FROM refused WHERE chat = ?1 AND message = ?2)),
		(SELECT count(*) FROM inbox WHERE state = 'pending' AND chat = ?1 AND ended = 0),
		coalesce(r.id, 0), coalesce(r.owner, ''), coalesce((SELECT token FROM token WHERE chat = ?1), '')
		FROM (SELECT 1) LEFT JOIN seen s ON s.chat = ?1 AND s.message = ?2
		LEFT JOIN inbox r ON r.state = 'running' AND r.chat = ?1 AND r.ended = 0`,
		[]any{in.Chat.String(), in.ID}, &c.duplicateOf, &c.duplicate, &c.waiting, &c.running, &c.runner, &c.token)
	return c, err
}

// decideDisposition decides what happens to a new message, by the state of its chat.
func decideDisposition(r preparedReceive, chat chatState) store.ReceiveResult {
	result := store.ReceiveResult{
		Inbound: store.Inbound{In: r.In, Agent: cmp.Or(r.Agent, store.DefaultAgent), Received: fromMicros(micros(r.now)), State: store.Pending},
	}
	if r.Settle {
		result.Disposition = store.Settled
		result.Inbound.State, result.Inbound.Ended = store.Done, result.Inbound.Received
		return result
	}
	result.Waiting, result.Running, result.Runner = chat.waiting, chat.running, chat.runner
	switch {
	case r.NotWhileRunning && result.Running != 0:
		result.Disposition = store.Busy
	case r.QueueLimit > 0 && result.Waiting >= r.QueueLimit:
		result.Disposition = store.Full
	case r.Claim && r.Gather == 0 && result.Waiting == 0 && result.Running == 0:
		result.Disposition = store.Claimed
		i := &result.Inbound
		i.State, i.Owner, i.Attempt, i.Started = store.Running, r.member, 1, i.Received
	default:
		result.Disposition = store.Queued
		result.Waiting++
	}
	return result
}

// applyRequests carries out the Restart, Stop, Drop, Cancel, StartConversation and Remember of a
// request, and skips impossible ones.
func (t *tx) applyRequests(a store.ReceiveRequest, now time.Time) error {
	if a.Restart != 0 {
		if err := t.restartInbound(a.Restart); err != nil && !errors.Is(err, store.ErrState) {
			return err
		}
	}
	if a.Stop != 0 {
		if err := t.markStopped(a.In.Chat.String(), a.Stop); err != nil {
			return err
		}
	}
	if a.Drop != 0 {
		if _, err := t.cancelPending(a.In.Chat.String(), a.Drop, now); err != nil {
			return err
		}
		if err := t.markStopped(a.In.Chat.String(), a.Drop); err != nil {
			return err
		}
	}
	if a.Cancel {
		if _, err := t.cancelPending(a.In.Chat.String(), 0, now); err != nil {
			return err
		}
	}
	if a.StartConversation {
		if err := t.startConversation(a.In.Chat); err != nil {
			return err
		}
	}
	if a.Remember.Key != "" {
		return t.saveMemory(a.In.Chat, a.Remember)
	}
	return nil
}

// insertInbound stores a new message as done, running or pending. token is the chat's, or "".
func (t *tx) insertInbound(result *store.ReceiveResult, r preparedReceive, token string) (err error) {
	i, chat := &result.Inbound, r.In.Chat.String()
	if i.State == store.Pending && r.Gather > 0 {
		i.NotBefore = fromMicros(micros(r.now.Add(min(r.Gather, store.MaxGather))))
	}
	i.ID, err = t.execInsert(`INSERT INTO inbox (chat, agent, state, owner, attempt, received, started, ended, not_before, incoming)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		chat, i.Agent, i.State, i.Owner, i.Attempt, micros(i.Received), micros(i.Started), micros(i.Ended), micros(i.NotBefore), r.incoming)
	if err != nil {
		return err
	}
	if r.In.ID != "" {
		if err := t.exec("INSERT INTO seen (chat, message, inbound, at) VALUES (?, ?, ?, ?)", chat, r.In.ID, i.ID, micros(i.Received)); err != nil {
			return err
		}
	}
	switch {
	case result.Disposition == store.Claimed && token != "":
		i.Token = token
	case result.Disposition == store.Claimed:
		i.Token, err = t.ensureToken(chat)
	case result.Disposition == store.Queued && result.Running == 0:
		err = t.enterLine(chat)
	}
	return err
}

// hasUnfinished reports whether a chat has pending and running inbound messages.
func (t *tx) hasUnfinished(chat string) (pending, running bool, err error) {
	_, err = t.queryRow(`SELECT EXISTS (SELECT 1 FROM inbox WHERE state = 'pending' AND chat = ?1 AND ended = 0),
		EXISTS (SELECT 1 FROM inbox WHERE state = 'running' AND chat = ?1 AND ended = 0)`, []any{chat}, &pending, &running)
	return pending, running, err
}

// enterLine adds a chat to the end of the line, unless it is in the line already. The chat gets the
// not_before of its oldest pending message.
func (t *tx) enterLine(chat string) error {
	return t.exec(`INSERT INTO line (chat, not_before) VALUES (?1, coalesce((SELECT not_before FROM inbox
		WHERE state = 'pending' AND chat = ?1 AND ended = 0 ORDER BY id LIMIT 1), 0))
		ON CONFLICT DO UPDATE SET not_before = excluded.not_before`, chat)
}
