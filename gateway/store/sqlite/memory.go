package sqlite

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Recall returns what is remembered of a chat.
func (s *Store) Recall(ctx context.Context, chat channels.Chat, key string) (string, error) {
	var value string
	_, err := s.lookup(ctx, "SELECT value FROM memory WHERE chat = ? AND key = ?", []any{chat.String(), key}, &value)
	return value, wrap("recall %s of %s", err, key, chat)
}

// Remember changes what is remembered of a chat.
func (s *Store) Remember(ctx context.Context, chat channels.Chat, key, value string) error {
	return s.change(ctx, fmt.Sprintf("remember %s of %s", key, chat), func(t *tx) error {
		if value == "" {
			return t.exec("DELETE FROM memory WHERE chat = ? AND key = ?", chat.String(), key)
		}
		return t.exec(`INSERT INTO memory (chat, key, value) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET value = excluded.value`, chat.String(), key, value)
	})
}

// AddBubble notes a bubble.
func (s *Store) AddBubble(ctx context.Context, b store.Bubble) error {
	return s.change(ctx, "note a bubble in "+b.Chat.String(), func(t *tx) error {
		return t.exec("INSERT OR REPLACE INTO bubble (chat, id, item) VALUES (?, ?, ?)", b.Chat.String(), b.ID, b.Item)
	})
}

// DropBubble forgets a bubble.
func (s *Store) DropBubble(ctx context.Context, b store.Bubble) error {
	return s.change(ctx, "forget a bubble in "+b.Chat.String(), func(t *tx) error { return t.dropBubble(b.Chat.String(), b.ID) })
}

func (t *tx) dropBubble(chat, id string) error {
	return t.exec("DELETE FROM bubble WHERE chat = ? AND id = ?", chat, id)
}

// Bubbles returns the bubbles that were noted.
func (s *Store) Bubbles(ctx context.Context) ([]store.Bubble, error) {
	bubbles, err := all(ctx, s, func(scan func(...any) error) (b store.Bubble, err error) {
		var chat string
		err = scan(&chat, &b.ID, &b.Item)
		b.Chat = chatOf(chat)
		return b, err
	}, "SELECT chat, id, item FROM bubble ORDER BY item, chat, id")
	return bubbles, wrap("read bubbles", err)
}
