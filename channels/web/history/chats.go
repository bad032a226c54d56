package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// ChatUpdate is a change of a chat; nil: the value stays.
type ChatUpdate struct {
	Title  *string `json:"title"` // "": the beginning of the first message
	Pinned *bool   `json:"pinned"`
}

// UpdateChat renames or pins a chat, and appends an event of the type Changed unless the chat is so
// already. It returns the chat.
func (h *History) UpdateChat(ctx context.Context, p Actor, chat string, u ChatUpdate) (c Chat, err error) {
	err = h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		owner, err := readExisting(tx, chat, p)
		if err != nil {
			return nil, err
		}
		set := func(column string, value any) (changed bool) {
			if err == nil {
				var r sql.Result
				r, err = tx.Exec("UPDATE chats SET "+column+" = $1 WHERE id = $2 AND "+column+" <> $1", value, chat)
				if err == nil {
					n, _ := r.RowsAffected()
					return n > 0
				}
			}
			return false
		}
		changed := u.Title != nil && set("name", cleanLine(*u.Title))
		if u.Pinned != nil && set("pinned", map[bool]int64{true: 1}[*u.Pinned]) {
			changed = true
		}
		if err == nil {
			c, err = scanChat(tx.QueryRow(selectChats+" WHERE c.id = $1", chat))
		}
		if err != nil || !changed {
			return nil, err
		}
		e := Event{Chat: chat, Owner: owner, ChatTitle: c.Title, Pinned: c.Pinned, Type: Changed, Time: h.now()}
		e.Seq, err = insertEvent(tx, e, "", false)
		return &e, err
	})
	return c, err
}

// readExisting returns the owner of a chat that exists and that the actor may use.
func readExisting(tx *sql.Tx, chat string, p Actor) (owner string, err error) {
	owner, known, err := readOwner(tx, chat, p)
	if err == nil && !known {
		err = refusal{ErrNotOwner}
	}
	return owner, err
}

// DeleteChat deletes a chat for good: from now on it cannot be read, nor written to. Its messages
// are removed by Purge, also after a crash. The gateway is to receive an event of the type Deleted
// instead of what waits. A repetition changes nothing.
func (h *History) DeleteChat(ctx context.Context, chat string, actor Actor, body Body) error {
	return h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		owner, err := readExisting(tx, chat, actor)
		if errors.Is(err, ErrDeleted) {
			return nil, nil
		}
		for _, statement := range []string{
			// The row stays, so that nobody else gets the agent's files in the chat's folder.
			"UPDATE chats SET deleted = 1, title = '', name = '', pinned = 0, updated = 0 WHERE id = $1",
			"UPDATE events SET taken = 1 WHERE taken = 0 AND chat = $1",
		} {
			if err == nil {
				_, err = tx.Exec(statement, chat)
			}
		}
		if err != nil {
			return nil, err
		}
		if body.Name, err = scanName(tx.QueryRow(selectName, body.User)); err != nil {
			return nil, err
		}
		h.writer.erased = true
		e := Event{Chat: chat, Owner: owner, Type: Deleted, ID: body.Press, Time: h.now(), Body: body}
		e.Seq, err = insertEvent(tx, e, "", true)
		return &e, err
	})
}

// Purge removes the messages of deleted chats, with their files. discard removes the files that
// people have sent from a chat's folder; it is called again after a crash.
func (h *History) Purge(ctx context.Context, discard func(chat string, media []Media)) error {
	chats, err := scanColumn[string](h.read.QueryContext(ctx, "SELECT id FROM chats WHERE deleted = 1"))
	for _, chat := range chats {
		for more := true; more && err == nil; {
			more, err = h.purgeNext(ctx, chat, discard)
		}
	}
	if err != nil {
		return fmt.Errorf("remove messages of deleted chats: %w", err)
	}
	return nil
}

// purgeNext removes some messages of a deleted chat. It reports whether there may be more.
func (h *History) purgeNext(ctx context.Context, chat string, discard func(chat string, media []Media)) (bool, error) {
	messages, err := scanEvents(h.read.QueryContext(ctx, selectEvents+
		" WHERE e.chat = $1 AND e.type = 'message' ORDER BY e.seq LIMIT $2", chat, pruneBatch))
	if err != nil {
		return false, err
	}
	var media []Media
	for _, m := range messages {
		media = append(media, m.Media...)
	}
	h.RemoveFiles(slices.DeleteFunc(slices.Clone(media), func(m Media) bool { _, saved := m.Saved(); return saved }))
	discard(chat, media)
	return len(messages) > 0, h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		h.writer.erased = true
		for _, m := range messages {
			for _, statement := range []string{"DELETE FROM media WHERE seq = $1", "DELETE FROM events WHERE seq = $1"} {
				if _, err := tx.Exec(statement, m.Seq); err != nil {
					return nil, err
				}
			}
		}
		if len(messages) > 0 {
			return nil, nil
		}
		_, err := tx.Exec("DELETE FROM events WHERE chat = $1 AND type <> 'deleted'", chat)
		if err == nil {
			_, err = tx.Exec("UPDATE chats SET deleted = 2 WHERE id = $1", chat)
		}
		return nil, err
	})
}
