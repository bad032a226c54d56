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

// Cursor returns what was last stored for a channel.
func (s *Store) Cursor(ctx context.Context, channel string) (string, error) {
	var value string
	if _, err := s.queryRow(ctx, "SELECT value FROM cursor WHERE channel = ?", []any{channel}, &value); err != nil {
		return "", fmt.Errorf("read the cursor of %s: %w", channel, err)
	}
	return value, nil
}

// SetCursor stores a channel's cursor.
func (s *Store) SetCursor(ctx context.Context, channel, cursor string) error {
	return s.change(ctx, "move the cursor of "+channel, func(t *tx) error { return t.setCursor(channel, cursor) })
}

func (t *tx) setCursor(channel, cursor string) error {
	return t.exec("INSERT INTO cursor (channel, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", channel, cursor)
}

// Receive stores an inbound message once.
func (s *Store) Receive(ctx context.Context, a store.ReceiveRequest) (store.ReceiveResult, error) {
	now := s.now()
	if a.Remember.Key != "" {
		s.chatsWithMemories.add(a.In.Chat.String())
	}
	var part channels.Part
	part, a.In = partOf(a.In)
	r := reception{ReceiveRequest: a, part: part, member: s.member, now: now, incoming: encodeJSON(a.In), answer: s.outbounds(a.Answer)}
	var result store.ReceiveResult
	err := s.change(ctx, fmt.Sprintf("receive message %s of %s", a.In.ID, a.In.Chat), func(t *tx) (err error) {
		result, err = t.receive(r)
		return err
	})
	if err != nil {
		return store.ReceiveResult{}, err
	}
	return result, nil
}

// reception is a ReceiveRequest made ready for the writer, so that nothing slow happens in the
// transaction.
type reception struct {
	store.ReceiveRequest
	part     channels.Part
	member   string
	now      time.Time
	incoming string
	answer   []outbound
}

func (t *tx) receive(r reception) (store.ReceiveResult, error) {
	chat, err := t.state(r.In)
	if err != nil {
		return store.ReceiveResult{}, err
	}
	if chat.dup {
		before, _, err := t.inbound("SELECT "+inboundColumns+" FROM inbox WHERE id = ?", chat.before)
		if err != nil {
			return store.ReceiveResult{}, err
		}
		if err := t.completeParts(r.In.Chat, r.part, before.ID, r.now); err != nil {
			return store.ReceiveResult{}, err
		}
		return store.ReceiveResult{Inbound: before, Disposition: store.Duplicate}, t.moveCursor(r)
	}
	if r.Reply != nil {
		n, err := t.reply(*r.Reply, r.now)
		if err != nil {
			return store.ReceiveResult{}, err
		}
		r.Settle = r.Settle || n > 0
	}
	result := dispose(r, chat)
	if result.Disposition == store.Busy || result.Disposition == store.Full {
		return result, nil
	}
	if err := t.admit(&result, r); err != nil {
		return store.ReceiveResult{}, err
	}
	if err := t.completeParts(r.In.Chat, r.part, result.Inbound.ID, r.now); err != nil {
		return store.ReceiveResult{}, err
	}
	if err := t.enqueueAll(r.answer, result.Inbound.ID, r.now); err != nil {
		return store.ReceiveResult{}, err
	}
	if err := t.fulfil(r.ReceiveRequest, r.now); err != nil {
		return store.ReceiveResult{}, err
	}
	return result, t.moveCursor(r)
}

// moveCursor stores the cursor that came with a message which is stored in the same step.
func (t *tx) moveCursor(r reception) error {
	if r.Cursor == "" {
		return nil
	}
	return t.setCursor(r.In.Chat.Channel, r.Cursor)
}

// chatState is what the store has of a chat when one of its messages is received.
type chatState struct {
	dup     bool
	before  int64 // of a duplicate: its inbound message; 0 if that was pruned since, or refused
	waiting int
	running int64  // the inbound message that runs, or 0
	runner  string // the member that runs it
}

// state reads the state of a message's chat. A message without an id cannot be told from another,
// so it is always new.
func (t *tx) state(in channels.Incoming) (c chatState, err error) {
	_, err = t.row(`SELECT coalesce((SELECT inbound FROM seen WHERE chat = ?1 AND message = ?2), 0),
		?2 <> '' AND (EXISTS (SELECT 1 FROM seen WHERE chat = ?1 AND message = ?2) OR EXISTS (SELECT 1 FROM refused WHERE chat = ?1 AND message = ?2)),
		(SELECT count(*) FROM inbox WHERE state = 'pending' AND chat = ?1 AND ended = 0),
		coalesce((SELECT id FROM inbox WHERE state = 'running' AND chat = ?1 AND ended = 0 LIMIT 1), 0),
		coalesce((SELECT owner FROM inbox WHERE state = 'running' AND chat = ?1 AND ended = 0 LIMIT 1), '')`,
		[]any{in.Chat.String(), in.ID}, &c.before, &c.dup, &c.waiting, &c.running, &c.runner)
	return c, err
}

// dispose decides what becomes of a new message, by what else of its chat is not ended.
func dispose(r reception, chat chatState) store.ReceiveResult {
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
	case r.Claim && result.Waiting == 0 && result.Running == 0:
		result.Disposition = store.Claimed
		i := &result.Inbound
		i.State, i.Owner, i.Attempt, i.Started = store.Running, r.member, 1, i.Received
	default:
		result.Disposition = store.Queued
		result.Waiting++
	}
	return result
}

// fulfil does what an inbound message asks for, as far as that is possible.
func (t *tx) fulfil(a store.ReceiveRequest, now time.Time) error {
	if a.Restart != 0 {
		if err := t.restart(a.Restart); err != nil && !errors.Is(err, store.ErrState) {
			return err
		}
	}
	if a.Cancel {
		if _, err := t.cancel(a.In.Chat.String(), 0, now); err != nil {
			return err
		}
	}
	if a.StartAfresh {
		if err := t.startAfresh(a.In.Chat); err != nil {
			return err
		}
	}
	if a.Remember.Key != "" {
		return t.remember(a.In.Chat, a.Remember)
	}
	return nil
}

// admit stores a new message: as done, as running, or in line.
func (t *tx) admit(result *store.ReceiveResult, r reception) (err error) {
	i, chat := &result.Inbound, r.In.Chat.String()
	i.ID, err = t.insert("INSERT INTO inbox (chat, agent, state, owner, attempt, received, started, ended, incoming) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		chat, i.Agent, i.State, i.Owner, i.Attempt, micros(i.Received), micros(i.Started), micros(i.Ended), r.incoming)
	if err != nil {
		return err
	}
	if r.In.ID != "" {
		if err := t.exec("INSERT INTO seen (chat, message, inbound, at) VALUES (?, ?, ?, ?)", chat, r.In.ID, i.ID, micros(i.Received)); err != nil {
			return err
		}
	}
	switch {
	case result.Disposition == store.Claimed:
		i.Token, err = t.token(chat)
	case result.Disposition == store.Queued && result.Running == 0:
		err = t.stand(chat)
	}
	return err
}

// open says what of a chat is not ended.
func (t *tx) open(chat string) (pending, running bool, err error) {
	_, err = t.row(`SELECT EXISTS (SELECT 1 FROM inbox WHERE state = 'pending' AND chat = ?1 AND ended = 0),
		EXISTS (SELECT 1 FROM inbox WHERE state = 'running' AND chat = ?1 AND ended = 0)`, []any{chat}, &pending, &running)
	return pending, running, err
}

// stand puts a chat at the end of the line, unless it stands there already.
func (t *tx) stand(chat string) error {
	return t.exec("INSERT INTO line (chat) VALUES (?) ON CONFLICT DO NOTHING", chat)
}
