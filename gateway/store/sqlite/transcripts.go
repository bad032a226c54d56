package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// write adds a letter's entry to what the agent said of its item.
func (t *tx) write(l letter, now time.Time) error {
	at := l.Entry.Time
	if at.IsZero() {
		at = now
	}
	return t.exec(`INSERT INTO transcript (item, n, text, media, at)
		VALUES (?1, (SELECT coalesce(max(n), 0) + 1 FROM transcript WHERE item = ?1), ?2, ?3, ?4)`,
		l.Item, l.Entry.Text, text(l.Entry.Media), micros(at))
}

// History returns the last turns of a chat: the messages that were begun on, each with what the
// agent said to it.
func (s *Store) History(ctx context.Context, chat channels.Chat, turns int, without int64) ([]store.Entry, error) {
	if turns <= 0 {
		return nil, nil
	}
	items, err := all(ctx, s, scanItem, "SELECT "+itemColumns+` FROM inbox WHERE chat = ?1 AND attempt > 0 AND id <> ?3
		AND id > coalesce((SELECT item FROM afresh WHERE chat = ?1), 0) ORDER BY id DESC LIMIT ?2`, chat.String(), turns, without)
	if err != nil {
		return nil, wrap("read the history of %s", err, chat)
	}
	var entries []store.Entry
	for _, i := range slices.Backward(items) {
		said, err := all(ctx, s, scanEntry, "SELECT item, text, media, at FROM transcript WHERE item = ? ORDER BY n", i.ID)
		if err != nil {
			return nil, wrap("read the history of %s", err, chat)
		}
		entries = append(entries, store.Entry{Role: "user", Text: i.In.Text, Media: i.In.Media, Time: i.Received, Item: i.ID})
		entries = append(entries, said...)
	}
	return entries, nil
}

func scanEntry(scan func(...any) error) (store.Entry, error) {
	e := store.Entry{Role: "agent"}
	var media []byte
	var at int64
	if err := scan(&e.Item, &e.Text, &media, &at); err != nil {
		return store.Entry{}, err
	}
	e.Time = moment(at)
	if err := json.Unmarshal(media, &e.Media); err != nil {
		return store.Entry{}, fmt.Errorf("entry of item %d: %w", e.Item, err)
	}
	return e, nil
}

// StartAfresh forgets what was said so far.
func (s *Store) StartAfresh(ctx context.Context, chat channels.Chat) error {
	return s.change(ctx, "start "+chat.String()+" afresh", func(t *tx) error { return t.startAfresh(chat) })
}

func (t *tx) startAfresh(chat channels.Chat) error {
	if err := t.exec("DELETE FROM memory WHERE chat = ?1 AND substr(key, 1, length(?2)) <> ?2", chat.String(), store.Lasting); err != nil {
		return err
	}
	return t.exec(`INSERT INTO afresh (chat, item) SELECT ?1, coalesce(max(id), 0) FROM inbox WHERE chat = ?1
		ON CONFLICT DO UPDATE SET item = excluded.item`, chat.String())
}
