package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// heard adds what the user said to the transcript, when its turn begins for the first time.
func (t *tx) heard(i store.Item) error {
	return t.say(i.In.Chat.String(), store.Entry{Role: "user", Text: i.In.Text, Media: i.In.Media, Time: i.Received, Item: i.ID})
}

// write adds a letter's entry to the transcript of its chat.
func (t *tx) write(l letter, now time.Time) error {
	e, chat := *l.Entry, l.chat
	if e.Time.IsZero() {
		e.Time = now
	}
	if chat == "" { // a letter without parts
		var err error
		if chat, _, err = t.whereIs(l.Item); err != nil {
			return err
		}
	}
	e.Item = l.Item
	return t.say(chat, e)
}

func (t *tx) say(chat string, e store.Entry) error {
	id, err := t.insert(`INSERT INTO transcript (before, item, role, text, media, at)
		VALUES (coalesce((SELECT entry FROM talk WHERE chat = ?), 0), ?, ?, ?, ?, ?)`,
		chat, e.Item, e.Role, e.Text, text(e.Media), micros(e.Time))
	if err != nil {
		return err
	}
	return t.exec("INSERT INTO talk (chat, entry) VALUES (?, ?) ON CONFLICT DO UPDATE SET entry = excluded.entry", chat, id)
}

// History returns the entries of the last turns of a chat. A turn begins with what the user said.
func (s *Store) History(ctx context.Context, chat channels.Chat, turns int) ([]store.Entry, error) {
	if turns <= 0 {
		return nil, nil
	}
	entries, err := all(ctx, s, scanEntry, `WITH RECURSIVE back (id, turns) AS (
			SELECT entry, 0 FROM talk WHERE chat = ?1
			UNION ALL
			SELECT t.before, turns + (t.role = 'user') FROM back JOIN transcript t USING (id) WHERE turns + (t.role = 'user') < ?2)
		SELECT item, role, text, media, at FROM back JOIN transcript USING (id) ORDER BY id`, chat.String(), turns)
	return entries, wrap("read the history of %s", err, chat)
}

func scanEntry(scan func(...any) error) (store.Entry, error) {
	var e store.Entry
	var media []byte
	var at int64
	if err := scan(&e.Item, &e.Role, &e.Text, &media, &at); err != nil {
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
	return t.exec("DELETE FROM talk WHERE chat = ?", chat.String())
}
