package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Chat is one conversation.
type Chat struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Updated time.Time `json:"updated"`
}

const selectEvents = `SELECT e.seq, e.chat, c.owner, c.title, e.type, e.id, e.time, coalesce(e.pressed, ''), e.body
	FROM events e JOIN chats c ON c.id = e.chat`

const selectMessage = selectEvents + " WHERE e.chat = ? AND e.id = ? AND e.type = 'message'"

// maxReadBytes bounds the size of the events that one call reads, unless a single one is larger.
const maxReadBytes = 2 << 20

// scanEvents reads the rows of selectEvents up to maxReadBytes. There may be more rows.
func scanEvents(rows *sql.Rows, err error) ([]Event, error) {
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err says it
	var events []Event
	for size := 0; size < maxReadBytes && rows.Next(); {
		var e Event
		var millis int64
		var body []byte
		if err := rows.Scan(&e.Seq, &e.Chat, &e.Owner, &e.ChatTitle, &e.Type, &e.ID, &millis, &e.Pressed, &body); err != nil {
			return nil, fmt.Errorf("read event: %w", err)
		}
		if err := json.Unmarshal(body, &e.Body); err != nil {
			return nil, fmt.Errorf("read event %d: %w", e.Seq, err)
		}
		size += len(body)
		e.Time = time.UnixMilli(millis)
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return events, nil
}

func scanEvent(rows *sql.Rows, err error) (Event, bool, error) {
	events, err := scanEvents(rows, err)
	if err != nil || len(events) == 0 {
		return Event{}, false, err
	}
	return events[0], true, nil
}

// EventByKey returns the event with an idempotency key.
func (h *History) EventByKey(ctx context.Context, key string) (Event, bool, error) {
	return scanEvent(h.read.QueryContext(ctx, selectEvents+" WHERE e.key = ?", key))
}

// HasMessage reports whether a chat has the message with an ID.
func (h *History) HasMessage(ctx context.Context, chat, id string) (bool, error) {
	m, err := findMessage(h.read.QueryContext(ctx, selectMessage, chat, id))
	return m != nil, err
}

// Events returns some of the events after one number and up to another that the actor may see,
// oldest first.
func (h *History) Events(ctx context.Context, after, upTo int64, p Actor, limit int) ([]Event, error) {
	events, err := scanEvents(h.read.QueryContext(ctx, selectEvents+
		" WHERE e.seq > ? AND e.seq <= ? AND e.type <> 'reserved' AND (? OR c.owner = ?) ORDER BY e.seq LIMIT ?",
		after, upTo, p.All, p.User, limit))
	for i := range events {
		if e := &events[i]; err == nil && e.Type == Inserted {
			e.Message, err = findMessage(h.read.QueryContext(ctx, selectMessage, e.Chat, e.ID))
		}
	}
	return events, err
}

// findMessage returns the only message of a query; nil if there is none.
func findMessage(rows *sql.Rows, err error) (*Event, error) {
	m, found, err := scanEvent(rows, err)
	if !found || err != nil {
		return nil, err
	}
	return &m, nil
}

// Waiting returns some of the events after a number that the gateway has not received, oldest
// first.
func (h *History) Waiting(ctx context.Context, after int64, limit int) ([]Event, error) {
	return scanEvents(h.read.QueryContext(ctx, selectEvents+" WHERE e.taken = 0 AND e.seq > ? ORDER BY e.seq LIMIT ?",
		after, limit))
}

// Messages returns the last messages of a chat before a number, or of the whole chat if it is 0,
// oldest first, and whether there are older ones.
func (h *History) Messages(ctx context.Context, chat string, before int64, limit int) (
	messages []Event, more bool, err error,
) {
	if before <= 0 {
		before = math.MaxInt64
	}
	messages, err = scanEvents(h.read.QueryContext(ctx, selectEvents+
		" WHERE e.chat = ? AND e.type = 'message' AND e.seq < ? ORDER BY e.seq DESC LIMIT ?",
		chat, before, limit))
	if err != nil || len(messages) == 0 {
		return nil, false, err
	}
	slices.Reverse(messages)
	err = h.read.QueryRowContext(ctx,
		"SELECT EXISTS (SELECT 1 FROM events WHERE chat = ? AND type = 'message' AND seq < ?)", chat,
		messages[0].Seq).Scan(&more)
	return messages, more, err
}

// Chats returns the chats that the actor may see, newest first.
func (h *History) Chats(ctx context.Context, p Actor, limit int) ([]Chat, error) {
	rows,
		err := h.read.QueryContext(ctx,
		"SELECT id, title, updated FROM chats WHERE updated > 0 AND (? OR owner = ?) ORDER BY updated DESC, id LIMIT ?",
		p.All, p.User, limit)
	if err != nil {
		return nil, fmt.Errorf("read chats: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err says it
	chats := []Chat{}
	for rows.Next() {
		var c Chat
		var millis int64
		if err := rows.Scan(&c.ID, &c.Title, &millis); err != nil {
			return nil, fmt.Errorf("read chat: %w", err)
		}
		c.Updated = time.UnixMilli(millis).UTC()
		chats = append(chats, c)
	}
	return chats, rows.Err()
}

// ChatOwner returns the owner of a chat, if the chat exists.
func (h *History) ChatOwner(ctx context.Context, chat string) (owner string, found bool, err error) {
	err = h.read.QueryRowContext(ctx, "SELECT owner FROM chats WHERE id = ?", chat).Scan(&owner)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read chat: %w", err)
	}
	return owner, true, nil
}

// CanUse reports whether the actor may use a chat: their own, or, if mayStart, one that does not
// exist.
func (h *History) CanUse(ctx context.Context, p Actor, chat string, mayStart bool) (bool, error) {
	owner, found, err := h.ChatOwner(ctx, chat)
	if !found {
		return err == nil && (p.All || mayStart), err
	}
	return err == nil && p.canUse(owner), err
}
