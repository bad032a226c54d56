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
	ID      string
	Title   string
	Updated time.Time
}

const selectEvents = `SELECT e.seq, e.chat, c.owner, e.type, e.id, e.time, coalesce(e.pressed, ''), e.body
	FROM events e JOIN chats c ON c.id = e.chat`

// mostBytes is how much of events is held in memory for one reader, or one event.
const mostBytes = 2 << 20

// all reads the rows of selectEvents, up to a size. There may be more.
func all(rows *sql.Rows, err error) ([]Event, error) {
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err says it
	var events []Event
	for size := 0; size < mostBytes && rows.Next(); {
		var e Event
		var millis int64
		var body []byte
		if err := rows.Scan(&e.Seq, &e.Chat, &e.Owner, &e.Type, &e.ID, &millis, &e.Pressed, &body); err != nil {
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

func one(rows *sql.Rows, err error) (Event, bool, error) {
	events, err := all(rows, err)
	if err != nil || len(events) == 0 {
		return Event{}, false, err
	}
	return events[0], true, nil
}

// Key returns what has happened under a key.
func (h *History) Key(ctx context.Context, key string) (Event, bool, error) {
	return one(h.read.QueryContext(ctx, selectEvents+" WHERE e.key = ?", key))
}

// Between returns some of the events behind one number up to another that somebody may see, oldest
// first.
func (h *History) Between(ctx context.Context, after, upTo int64, p Party, limit int) ([]Event, error) {
	return all(h.read.QueryContext(ctx, selectEvents+" WHERE e.seq > ? AND e.seq <= ? AND (? OR c.owner = ?) ORDER BY e.seq LIMIT ?",
		after, upTo, p.All, p.User, limit))
}

// Waiting returns some of the events behind a number that the gateway does not have yet, oldest
// first.
func (h *History) Waiting(ctx context.Context, after int64, limit int) ([]Event, error) {
	return all(h.read.QueryContext(ctx, selectEvents+" WHERE e.taken = 0 AND e.seq > ? ORDER BY e.seq LIMIT ?", after, limit))
}

// Page returns the last messages of a chat before a number, or the last of all if it is 0, oldest
// first, and whether there are more.
func (h *History) Page(ctx context.Context, chat string, before int64, limit int) (messages []Event, more bool, err error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	messages, err = all(h.read.QueryContext(ctx, selectEvents+" WHERE e.chat = ? AND e.type = 'message' AND e.seq < ? ORDER BY e.seq DESC LIMIT ?",
		chat, before, limit))
	if err != nil || len(messages) == 0 {
		return nil, false, err
	}
	slices.Reverse(messages)
	err = h.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM events WHERE chat = ? AND type = 'message' AND seq < ?)", chat, messages[0].Seq).Scan(&more)
	return messages, more, err
}

// Chats returns the chats that somebody may see, the newest first.
func (h *History) Chats(ctx context.Context, p Party, limit int) ([]Chat, error) {
	rows, err := h.read.QueryContext(ctx, "SELECT id, title, updated FROM chats WHERE updated > 0 AND (? OR owner = ?) ORDER BY updated DESC, id LIMIT ?", p.All, p.User, limit)
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
		c.Updated = time.UnixMilli(millis)
		chats = append(chats, c)
	}
	return chats, rows.Err()
}

// Owner returns whose a chat is, if it is there.
func (h *History) Owner(ctx context.Context, chat string) (owner string, found bool, err error) {
	err = h.read.QueryRowContext(ctx, "SELECT owner FROM chats WHERE id = ?", chat).Scan(&owner)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read chat: %w", err)
	}
	return owner, true, nil
}

// May tells whether somebody may use a chat: theirs, or, if they may begin it, nobody's yet.
func (h *History) May(ctx context.Context, p Party, chat string, begin bool) (bool, error) {
	owner, found, err := h.Owner(ctx, chat)
	if !found {
		return err == nil && (p.All || begin), err
	}
	return err == nil && p.may(owner), err
}
