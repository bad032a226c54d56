package sqlite

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Recall returns a memory of a chat.
func (s *Store) Recall(ctx context.Context, chat channels.Chat, key string) (string, error) {
	var value string
	if !s.chatsWithMemories.has(chat.String()) {
		return "", nil
	}
	_, err := s.queryRow(ctx, "SELECT value FROM memory WHERE chat = ? AND key = ?", []any{chat.String(), key}, &value)
	return value, wrapError("recall %s of %s", err, key, chat)
}

// Remember replaces a memory of a chat.
func (s *Store) Remember(ctx context.Context, chat channels.Chat, key, value string) error {
	s.chatsWithMemories.add(chat.String())
	return s.change(ctx, fmt.Sprintf("remember %s of %s", key, chat), func(t *tx) error { return t.saveMemory(chat, store.Memory{Key: key, Value: value}) })
}

func (t *tx) saveMemory(chat channels.Chat, m store.Memory) error {
	if m.Value == "" {
		return t.exec("DELETE FROM memory WHERE chat = ? AND key = ?", chat.String(), m.Key)
	}
	return t.exec(`INSERT INTO memory (chat, key, value) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET value = excluded.value`, chat.String(), m.Key, m.Value)
}

// AddTransient records a transient message.
func (s *Store) AddTransient(ctx context.Context, transient store.Transient) error {
	return s.change(ctx, "record a transient message in "+transient.Chat.String(), func(t *tx) error {
		var board int64
		if transient.Board {
			board = micros(s.now())
		}
		return t.addTransient(transient, board)
	})
}

// addTransient records a transient message. board is when it was sent as a board; 0: it is none.
func (t *tx) addTransient(transient store.Transient, board int64) error {
	return t.exec("INSERT OR REPLACE INTO transient (chat, id, inbound, board, incoming) VALUES (?, ?, ?, ?, ?)",
		transient.Chat.String(), transient.ID, transient.Inbound, board, transient.Incoming)
}

// DropTransient removes the record of a transient message.
func (s *Store) DropTransient(ctx context.Context, transient store.Transient) error {
	return s.change(ctx, "remove the record of a transient message in "+transient.Chat.String(), func(t *tx) error { return t.dropTransient(transient.Chat.String(), transient.ID) })
}

func (t *tx) dropTransient(chat, id string) error {
	return t.exec("DELETE FROM transient WHERE chat = ? AND id = ?", chat, id)
}

// Transients returns the recorded transient messages.
func (s *Store) Transients(ctx context.Context) ([]store.Transient, error) {
	transients, err := queryAll(ctx, s, scanTransient, "SELECT chat, id, inbound, board > 0, incoming FROM transient ORDER BY inbound, chat, id")
	return transients, wrapError("read transient messages", err)
}

func scanTransient(scan func(...any) error) (store.Transient, error) {
	var transient store.Transient
	var chat string
	err := scan(&chat, &transient.ID, &transient.Inbound, &transient.Board, &transient.Incoming)
	transient.Chat = chatOf(chat)
	return transient, err
}
