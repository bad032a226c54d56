package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Recall returns a memory of a chat.
func (s outbox) Recall(ctx context.Context, chat channels.Chat, key string) (string, error) {
	if !s.chatsWithMemories.has(chat.String()) {
		return "", nil
	}
	return readValue[string](ctx, s.state, fmt.Sprintf("recall %s of %s", key, chat), "SELECT value FROM memory WHERE chat = ? AND key = ?", chat.String(), key)
}

// Remember replaces a memory of a chat.
func (s outbox) Remember(ctx context.Context, chat channels.Chat, key, value string) error {
	s.chatsWithMemories.add(chat.String())
	return s.change(ctx, fmt.Sprintf("remember %s of %s", key, chat), func(t *tx) { saveMemory(t, chat, store.Memory{Key: key, Value: value}) })
}

func saveMemory(t *tx, chat channels.Chat, m store.Memory) {
	if m.Value == "" {
		t.exec("DELETE FROM memory WHERE chat = ? AND key = ?", chat.String(), m.Key)
		return
	}
	t.exec(`INSERT INTO memory (chat, key, value) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET value = excluded.value`, chat.String(), m.Key, m.Value)
}

// AddTransient records a transient message.
func (s outbox) AddTransient(ctx context.Context, transient store.Transient) error {
	var board time.Time
	if transient.Board {
		board = s.now()
	}
	return s.change(ctx, "record a transient message in "+transient.Chat.String(), func(t *tx) { addTransient(t, transient, board) })
}

// addTransient records a transient message. board is when it was sent as a board; zero: it is none.
func addTransient(t *tx, transient store.Transient, board time.Time) {
	t.exec("INSERT OR REPLACE INTO transient (chat, id, inbound, board, incoming) VALUES (?, ?, ?, ?, ?)",
		transient.Chat.String(), transient.ID, transient.Inbound, micros(board), transient.Incoming)
}

// DropTransient removes the record of a transient message.
func (s outbox) DropTransient(ctx context.Context, transient store.Transient) error {
	chat := transient.Chat.String()
	return s.change(ctx, "remove the record of a transient message in "+chat, func(t *tx) { dropTransient(t, chat, transient.ID) })
}

func dropTransient(t *tx, chat, id string) {
	t.exec("DELETE FROM transient WHERE chat = ? AND id = ?", chat, id)
}

const selectTransient = "SELECT chat, id, inbound, board > 0, incoming FROM transient "

// Transients returns the recorded transient messages.
func (s outbox) Transients(ctx context.Context) ([]store.Transient, error) {
	return readAll(ctx, s.state, "read transient messages", scanTransient, selectTransient+"ORDER BY inbound, chat, id")
}

func scanTransient(scan func(...any) error) (transient store.Transient, err error) {
	return transient, scan(chatColumn{&transient.Chat}, &transient.ID, &transient.Inbound, &transient.Board, &transient.Incoming)
}
