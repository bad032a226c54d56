package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Recall returns a memory of a chat.
func (s outbox) Recall(ctx context.Context, chat channels.Chat, key string) (string, error) {
	if !s.chatsWithMemories.has(chat.String()) {
		return "", nil
	}
	return readValue[string](ctx, s.state, fmt.Sprintf("recall %s of %s", key, chat),
		"SELECT value FROM memory WHERE chat = ? AND key = ?", chat.String(), key)
}

// Remember replaces a memory of a chat.
func (s outbox) Remember(ctx context.Context, chat channels.Chat, key, value string) error {
	s.chatsWithMemories.add(chat.String())
	return s.change(ctx, fmt.Sprintf("remember %s of %s", key, chat),
		func(t *tx) { saveMemory(t, chat, store.Memory{Key: key, Value: value}) })
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
	return s.change(ctx, "record a transient message in "+transient.Chat.String(),
		func(t *tx) { addTransient(t, transient, s.member, board) })
}

// addTransient records a transient message. board is when it was sent as a board; zero: it is none.
func addTransient(t *tx, transient store.Transient, member string, board time.Time) {
	t.exec("INSERT OR REPLACE INTO transient (chat, id, inbound, board, incoming, owner) VALUES (?, ?, ?, ?, ?, ?)",
		transient.Chat.String(), transient.ID, transient.Inbound, micros(board), transient.Incoming, member)
}

// DropTransient removes the record of a transient message.
func (s outbox) DropTransient(ctx context.Context, transient store.Transient) error {
	chat := transient.Chat.String()
	return s.change(ctx, "remove the record of a transient message in "+chat,
		func(t *tx) { dropTransient(t, chat, transient.ID) })
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
	return transient, scan(chatColumn{&transient.Chat}, &transient.ID, &transient.Inbound, &transient.Board,
		&transient.Incoming)
}

// maxChatSet bounds the chats in a chatSet, and so its memory.
const maxChatSet = 4096

// chatSet is the set of chats that may have rows in a table, so that other chats need no query.
// Only the daemon writes to the table, so only its handle has a set; nil contains every chat. The
// database decides: a chat that is in the set without a row, such as one whose questions are all
// answered, costs a query.
type chatSet struct {
	mu         sync.Mutex
	chats      map[string]bool
	overflowed bool // maxChatSet was exceeded: the set contains every chat
}

// loadChatSet reads the set of chats that a query returns. One more than the limit is enough to
// know that there are too many.
func loadChatSet(c *conn, query string) (*chatSet, error) {
	set := &chatSet{chats: map[string]bool{}}
	chats, err := appendRows(column[string], func(do func(func(...any) error) error) error {
		return c.queryRows(fmt.Sprintf("SELECT DISTINCT chat FROM (%s) LIMIT %d", query, maxChatSet+1), nil, do)
	})
	for _, chat := range chats {
		set.add(chat)
	}
	return set, err
}

// add adds a chat. It must be called before the row is stored.
func (c *chatSet) add(chat string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chats[chat] = true; len(c.chats) > maxChatSet {
		c.chats, c.overflowed = map[string]bool{}, true
	}
}

// has reports whether a chat may have a row.
func (c *chatSet) has(chat string) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.overflowed || c.chats[chat]
}

// isEmpty reports whether no chat has a row.
func (c *chatSet) isEmpty() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.overflowed && len(c.chats) == 0
}

// SaveDetails replaces the details of an inbound message.
func (s outbox) SaveDetails(ctx context.Context, inbound int64, text string) error {
	return s.change(ctx, fmt.Sprintf("save the details of inbound message %d", inbound), func(t *tx) {
		t.exec("INSERT OR REPLACE INTO details (inbound, text) SELECT id, ? FROM inbox WHERE id = ?", store.CutDetails(text),
			inbound)
	})
}

// LoadDetails returns the details of an inbound message.
func (s outbox) LoadDetails(ctx context.Context, inbound int64) (string, error) {
	return readValue[string](ctx, s.state, fmt.Sprintf("read the details of inbound message %d", inbound),
		"SELECT text FROM details WHERE inbound = ?", inbound)
}

// ReplaceFold records that a message replaces the board of a pending fold.
func (s outbox) ReplaceFold(ctx context.Context, inbound int64) error {
	return s.change(ctx, fmt.Sprintf("replace the board of inbound message %d", inbound), func(t *tx) {
		t.exec("UPDATE details SET fold = ? WHERE inbound = ? AND fold > 0", foldReplaced, inbound)
	})
}

// EndFold removes the record of a board and ends the pending fold of its turn.
func (s outbox) EndFold(ctx context.Context, board store.Transient) error {
	return s.change(ctx, fmt.Sprintf("end the fold of inbound message %d", board.Inbound), func(t *tx) {
		dropTransient(t, board.Chat.String(), board.ID)
		t.exec("UPDATE details SET fold = 0 WHERE inbound = ? AND fold > 0", board.Inbound)
	})
}

// The values of the column fold of a pending fold.
const foldPending, foldReplaced = 1, 2

// saveFold stores the pending fold of a turn that ends.
func saveFold(t *tx, inbound int64, member string, f store.Fold) {
	t.exec("INSERT OR REPLACE INTO details (inbound, text, summary, required, fold, owner) VALUES (?, ?, ?, ?, ?, ?)",
		inbound, store.CutDetails(f.Details), f.Summary, f.Required, foldPending, member)
}

// adoptFolds takes over the pending folds of other members.
func adoptFolds(t *tx, member string) []store.PendingFold {
	folds := queryAllTx(t, scanFold,
		`SELECT d.inbound, i.chat, i.incoming, d.summary, d.text, d.required, d.fold, coalesce(
			(SELECT b.id FROM transient b WHERE b.inbound = d.inbound AND b.chat = i.chat AND b.board > 0
				ORDER BY b.board DESC LIMIT 1), '')
		FROM details d JOIN inbox i ON i.id = d.inbound WHERE d.fold > 0 AND d.owner <> ? ORDER BY d.inbound`, member)
	t.exec("UPDATE details SET owner = ?1 WHERE fold > 0 AND owner <> ?1", member)
	return folds
}

func scanFold(scan func(...any) error) (store.PendingFold, error) {
	f := store.PendingFold{Board: store.Transient{Board: true}}
	var fold int
	var incoming []byte
	err := scan(&f.Board.Inbound, chatColumn{&f.Board.Chat}, &incoming, &f.Summary, &f.Details, &f.Required, &fold,
		&f.Board.ID)
	var in channels.Incoming
	_ = json.Unmarshal(incoming, &in) // if it is unreadable, the fold answers no message
	f.MessageID, f.Language, f.Replaced = in.ID, in.User.Language, fold == foldReplaced
	return f, err
}
