package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// Receive stores an arrival once.
func (s *Store) Receive(ctx context.Context, a store.Arrival) (store.Item, store.Verdict, error) {
	now := s.now()
	incoming := text(a.In)
	letters := s.letters(a.Answer)
	var item store.Item
	var verdict store.Verdict
	err := s.change(ctx, fmt.Sprintf("receive message %s of %s", a.In.ID, a.In.Chat), func(t *tx) error {
		if a.Cursor != "" {
			if err := t.setCursor(a.In.Chat.Channel, a.Cursor); err != nil {
				return err
			}
		}
		before, dup, err := t.seen(a)
		if err != nil || dup {
			item, verdict = before, store.Duplicate
			return err
		}
		if a.Reply != nil {
			n, err := t.reply(*a.Reply, now)
			if err != nil {
				return err
			}
			a.Settle = a.Settle || n > 0
		}
		item = store.Item{In: a.In, Received: moment(micros(now)), State: store.Pending}
		if verdict, err = t.admit(&item, a, incoming); err != nil {
			return err
		}
		if err := t.enqueueAll(letters, item.ID, now); err != nil {
			return err
		}
		return t.fulfil(a, now)
	})
	if err != nil {
		return store.Item{}, 0, err
	}
	return item, verdict, nil
}

// fulfil does what an arrival asks for, as far as that is possible.
func (t *tx) fulfil(a store.Arrival, now time.Time) error {
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

// seen finds the item that was made of the same message before; it is zero if it was pruned since,
// or refused. A message without an id cannot be told from another, so it is always new.
func (t *tx) seen(a store.Arrival) (store.Item, bool, error) {
	if a.In.ID == "" {
		return store.Item{}, false, nil
	}
	var id int64
	dup, err := t.row(`SELECT item FROM seen WHERE chat = ?1 AND message = ?2
		UNION ALL SELECT 0 FROM refused WHERE chat = ?1 AND message = ?2 LIMIT 1`, []any{a.In.Chat.String(), a.In.ID}, &id)
	if err != nil || !dup {
		return store.Item{}, false, err
	}
	item, _, err := t.item("SELECT "+itemColumns+" FROM inbox WHERE id = ?", id)
	return item, true, err
}

// admit stores a new message: as done, as running, or in line.
func (t *tx) admit(item *store.Item, a store.Arrival, incoming string) (store.Verdict, error) {
	chat := a.In.Chat.String()
	var pending, running bool
	if !a.Settle {
		var err error
		if pending, running, err = t.open(chat); err != nil {
			return 0, err
		}
	}
	verdict := store.Queued
	switch {
	case a.Settle:
		verdict, item.State, item.Ended = store.Settled, store.Done, item.Received
	case a.Claim && !pending && !running:
		verdict, item.State, item.Attempt, item.Started = store.Claimed, store.Running, 1, item.Received
	}
	var err error
	item.ID, err = t.insert("INSERT INTO inbox (chat, state, attempt, received, started, ended, incoming) VALUES (?, ?, ?, ?, ?, ?, ?)",
		chat, item.State, item.Attempt, micros(item.Received), micros(item.Started), micros(item.Ended), incoming)
	if err != nil {
		return 0, err
	}
	if a.In.ID != "" {
		if err := t.exec("INSERT INTO seen (chat, message, item, at) VALUES (?, ?, ?, ?)", chat, a.In.ID, item.ID, micros(item.Received)); err != nil {
			return 0, err
		}
	}
	if verdict == store.Queued && !running {
		return verdict, t.stand(chat)
	}
	return verdict, nil
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
