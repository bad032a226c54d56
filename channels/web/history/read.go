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
	Pinned  bool      `json:"pinned"`
	Updated time.Time `json:"updated"`
}

// shownTitle is an expression for the title of a row c of chats.
const shownTitle = "CASE c.name WHEN '' THEN c.title ELSE c.name END"

const selectChats = "SELECT c.id, " + shownTitle + ", c.pinned, c.updated FROM chats c"

const selectEvents = `SELECT e.seq, e.chat, c.owner, ` + shownTitle + `, c.pinned, e.type, e.id, e.time,
	coalesce(e.pressed, ''), e.body FROM events e JOIN chats c ON c.id = e.chat`

const selectMessage = selectEvents + " WHERE e.chat = $1 AND e.id = $2 AND e.type = 'message' AND c.deleted = 0"

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
		var millis, pinned int64
		var body []byte
		if err := rows.Scan(&e.Seq, &e.Chat, &e.Owner, &e.ChatTitle, &pinned, &e.Type, &e.ID, &millis, &e.Pressed,
			&body); err != nil {
			return nil, fmt.Errorf("read event: %w", err)
		}
		if err := json.Unmarshal(body, &e.Body); err != nil {
			return nil, fmt.Errorf("read event %d: %w", e.Seq, err)
		}
		size += len(body)
		e.Time, e.Pinned = time.UnixMilli(millis), pinned != 0
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
	return scanEvent(h.read.QueryContext(ctx, selectEvents+" WHERE e.key = $1", key))
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
		" WHERE e.seq > $1 AND e.seq <= $2 AND e.type <> 'reserved' AND ($3 OR c.owner = $4)"+
		" AND (c.deleted = 0 OR e.type = 'deleted') ORDER BY e.seq LIMIT $5",
		after, upTo, p.All, p.User, limit))
	return h.addMessages(ctx, events, err)
}

// addMessages adds the messages of the events that have one.
func (h *History) addMessages(ctx context.Context, events []Event, err error) ([]Event, error) {
	for i := range events {
		if e := &events[i]; err == nil && (e.Type == Inserted || e.Type == Edited) {
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
	events, err := scanEvents(h.read.QueryContext(ctx, selectEvents+" WHERE e.taken = 0 AND e.seq > $1"+
		" AND (c.deleted = 0 OR e.type = 'deleted') ORDER BY e.seq LIMIT $2", after, limit))
	return h.addMessages(ctx, events, err)
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
		" WHERE e.chat = $1 AND e.type = 'message' AND e.seq < $2 ORDER BY e.seq DESC LIMIT $3",
		chat, before, limit))
	if err != nil || len(messages) == 0 {
		return nil, false, err
	}
	slices.Reverse(messages)
	more, err = h.hasMessage(ctx, chat, "seq < $2", messages[0].Seq)
	return messages, more, err
}

// MessagesAfter returns the first messages of a chat after a number, oldest first, and whether
// there are newer ones.
func (h *History) MessagesAfter(ctx context.Context, chat string, after int64, limit int) (
	messages []Event, more bool, err error,
) {
	messages, err = scanEvents(h.read.QueryContext(ctx, selectEvents+
		" WHERE e.chat = $1 AND e.type = 'message' AND e.seq > $2 ORDER BY e.seq LIMIT $3",
		chat, after, limit))
	if err != nil || len(messages) == 0 {
		return nil, false, err
	}
	more, err = h.hasMessage(ctx, chat, "seq > $2", messages[len(messages)-1].Seq)
	return messages, more, err
}

// hasMessage reports whether a chat has a message whose number meets a condition.
func (h *History) hasMessage(ctx context.Context, chat, condition string, seq int64) (found bool, err error) {
	err = h.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM events WHERE chat = $1 AND type = 'message' AND "+
		condition+")", chat, seq).Scan(&found)
	return found, err
}

// Chats returns the chats that the actor may see: pinned ones first, then the newest.
func (h *History) Chats(ctx context.Context, p Actor, limit int) ([]Chat, error) {
	rows, err := h.read.QueryContext(ctx, selectChats+" WHERE "+
		visibleChat+" ORDER BY c.pinned DESC, c.updated DESC, c.id LIMIT $3", p.All, p.User, limit)
	if err != nil {
		return nil, fmt.Errorf("read chats: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err says it
	chats := []Chat{}
	for rows.Next() {
		c, err := scanChat(rows)
		if err != nil {
			return nil, err
		}
		chats = append(chats, c)
	}
	return chats, rows.Err()
}

// Chat returns a chat that the actor may see. The error of one without messages is ErrNotOwner.
func (h *History) Chat(ctx context.Context, p Actor, id string) (Chat, error) {
	c, err := scanChat(h.read.QueryRowContext(ctx, selectChats+" WHERE "+
		visibleChat+" AND c.id = $3", p.All, p.User, id))
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotOwner
	}
	return c, err
}

// visibleChat is a condition on a row c of chats: it has messages and the actor may see it.
const visibleChat = "c.updated > 0 AND c.deleted = 0 AND ($1 OR c.owner = $2)"

func scanChat(row interface{ Scan(into ...any) error }) (c Chat, err error) {
	var millis, pinned int64
	if err := row.Scan(&c.ID, &c.Title, &pinned, &millis); err != nil {
		return c, fmt.Errorf("read chat: %w", err)
	}
	c.Updated, c.Pinned = time.UnixMilli(millis).UTC(), pinned != 0
	return c, nil
}

// ChatOwner returns the owner of a chat, if the chat exists. The error of a deleted chat is
// ErrDeleted.
func (h *History) ChatOwner(ctx context.Context, chat string) (owner string, found bool, err error) {
	var deleted int
	err = h.read.QueryRowContext(ctx, "SELECT owner, deleted FROM chats WHERE id = $1", chat).Scan(&owner, &deleted)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("read chat: %w", err)
	case deleted != 0:
		err = ErrDeleted
	}
	return owner, true, err
}

// CanUse reports whether the actor may use a chat: their own, or, if mayStart, one that does not
// exist. The error of their own deleted chat is ErrDeleted.
func (h *History) CanUse(ctx context.Context, p Actor, chat string, mayStart bool) (bool, error) {
	owner, found, err := h.ChatOwner(ctx, chat)
	switch {
	case !found:
		return err == nil && (p.All || mayStart), err
	case errors.Is(err, ErrDeleted) && !p.canUse(owner):
		return false, nil
	}
	return err == nil && p.canUse(owner), err
}
