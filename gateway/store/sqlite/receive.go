package sqlite

import (
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
	if _, err := s.lookup(ctx, "SELECT value FROM cursor WHERE channel = ?", []any{channel}, &value); err != nil {
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
func (s *Store) Receive(ctx context.Context, a store.ReceiveRequest) (store.Inbound, store.ReceiveResult, error) {
	now := s.now()
	var part channels.Part
	part, a.In = partOf(a.In)
	incoming := text(a.In)
	outbounds := s.outbounds(a.Answer)
	var inbound store.Inbound
	var result store.ReceiveResult
	err := s.change(ctx, fmt.Sprintf("receive message %s of %s", a.In.ID, a.In.Chat), func(t *tx) error {
		if a.Cursor != "" {
			if err := t.setCursor(a.In.Chat.Channel, a.Cursor); err != nil {
				return err
			}
		}
		before, dup, err := t.seen(a.In)
		if err != nil {
			return err
		}
		if dup {
			inbound, result = before, store.Duplicate
			return t.completeParts(a.In.Chat, part, inbound.ID, now)
		}
		if a.Reply != nil {
			n, err := t.reply(*a.Reply, now)
			if err != nil {
				return err
			}
			a.Settle = a.Settle || n > 0
		}
		inbound = store.Inbound{In: a.In, Received: moment(micros(now)), State: store.Pending}
		if result, err = t.admit(&inbound, a, incoming); err != nil {
			return err
		}
		if err := t.completeParts(a.In.Chat, part, inbound.ID, now); err != nil {
			return err
		}
		if err := t.enqueueAll(outbounds, inbound.ID, now); err != nil {
			return err
		}
		return t.fulfil(a, now)
	})
	if err != nil {
		return store.Inbound{}, 0, err
	}
	return inbound, result, nil
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
		return t.startAfresh(a.In.Chat)
	}
	return nil
}

// seen finds the inbound message that was made of the same message before; it is zero if it was
// pruned since, or refused. A message without an id cannot be told from another, so it is always
// new.
func (t *tx) seen(in channels.Incoming) (store.Inbound, bool, error) {
	if in.ID == "" {
		return store.Inbound{}, false, nil
	}
	var id int64
	dup, err := t.row(`SELECT inbound FROM seen WHERE chat = ?1 AND message = ?2
		UNION ALL SELECT 0 FROM refused WHERE chat = ?1 AND message = ?2 LIMIT 1`, []any{in.Chat.String(), in.ID}, &id)
	if err != nil || !dup {
		return store.Inbound{}, false, err
	}
	inbound, _, err := t.inbound("SELECT "+inboundColumns+" FROM inbox WHERE id = ?", id)
	return inbound, true, err
}

// admit stores a new message: as done, as running, or in line.
func (t *tx) admit(inbound *store.Inbound, a store.ReceiveRequest, incoming string) (store.ReceiveResult, error) {
	chat := a.In.Chat.String()
	var pending, running bool
	if !a.Settle {
		var err error
		if pending, running, err = t.open(chat); err != nil {
			return 0, err
		}
	}
	result := store.Queued
	switch {
	case a.Settle:
		result, inbound.State, inbound.Ended = store.Settled, store.Done, inbound.Received
	case a.Claim && !pending && !running:
		result, inbound.State, inbound.Attempt, inbound.Started = store.Claimed, store.Running, 1, inbound.Received
	}
	var err error
	inbound.ID, err = t.insert("INSERT INTO inbox (chat, state, attempt, received, started, ended, incoming) VALUES (?, ?, ?, ?, ?, ?, ?)",
		chat, inbound.State, inbound.Attempt, micros(inbound.Received), micros(inbound.Started), micros(inbound.Ended), incoming)
	if err != nil {
		return 0, err
	}
	if a.In.ID != "" {
		if err := t.exec("INSERT INTO seen (chat, message, inbound, at) VALUES (?, ?, ?, ?)", chat, a.In.ID, inbound.ID, micros(inbound.Received)); err != nil {
			return 0, err
		}
	}
	if result == store.Queued && !running {
		return result, t.stand(chat)
	}
	return result, nil
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
