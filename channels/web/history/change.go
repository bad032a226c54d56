package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// CloseQuestion stores the outcome of a question. A question that is closed, or whose button was
// pressed, stays as it is.
func (h *History) CloseQuestion(ctx context.Context, chat, id, outcome string) error {
	return h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		m, found, err := scanEvent(tx.Query(selectMessage, chat, id))
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, refusal{ErrNoMessage}
		case m.Pressed != "" || m.Outcome != "":
			return nil, nil
		}
		m.Outcome = outcome
		if err := setBody(tx, m.Seq, Message, m.Body); err != nil {
			return nil, err
		}
		e, _, err := h.appendTx(tx, NewEvent{
			Chat: chat, Actor: Actor{All: true}, Type: Closed, ID: id,
			Body: Body{From: m.From, Outcome: outcome},
		})
		return &e, err
	})
}

// RemoveContent removes the content of a person's message, or of one with a screen. The message
// stays as an empty one. Other messages stay as they are.
func (h *History) RemoveContent(ctx context.Context, chat, id string) error {
	return h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		m, found, err := scanEvent(tx.Query(selectMessage, chat, id))
		if err != nil || !found || m.From != "user" && m.Terminal == nil || m.Removed {
			return nil, err
		}
		// The first message of a chat is its title.
		if _, err := tx.Exec("UPDATE chats SET title = '' WHERE id = ? AND title = ?", chat, chatTitle(m.Body)); err != nil {
			return nil, fmt.Errorf("remove title: %w", err)
		}
		m.Text, m.Terminal, m.Buttons, m.Removed, h.writer.erased = "", nil, nil, true, true
		if err := setBody(tx, m.Seq, Message, m.Body); err != nil {
			return nil, err
		}
		e, _, err := h.appendTx(tx, NewEvent{
			Chat: chat, Actor: Actor{All: true}, Type: Removed, ID: id,
			Body: Body{From: m.From},
		})
		return &e, err
	})
}

// Reserve reserves a number for a message that may be inserted later.
func (h *History) Reserve(ctx context.Context, chat, id string) (seq int64, err error) {
	err = h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		var err error
		seq, err = insertEvent(tx, Event{Chat: chat, Type: reserved, ID: id, Time: h.now()}, "", false)
		return nil, err
	})
	return seq, err
}

// Insert stores a message at a reserved number. It appends an event of the type Inserted, so that
// watchers that have seen later events learn of the message, too. A repetition changes nothing.
func (h *History) Insert(ctx context.Context, seq int64, d NewEvent) error {
	return h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		d.Inserted = true
		if err := setBody(tx, seq, reserved, d.Body); err != nil {
			return nil, err
		}
		r, err := tx.Exec("UPDATE events SET type = ? WHERE seq = ? AND type = ?", Message, seq, reserved)
		if err != nil {
			return nil, fmt.Errorf("insert message: %w", err)
		}
		if n, err := r.RowsAffected(); n == 0 || err != nil {
			return nil, err
		}
		e, _, err := h.appendTx(tx, NewEvent{
			Chat: d.Chat, Actor: d.Actor, Type: Inserted, ID: d.ID,
			Body: Body{From: d.From},
		})
		if err == nil {
			e.Message, err = findMessage(tx.Query(selectMessage, d.Chat, d.ID))
		}
		return &e, err
	})
}

// setBody replaces the content of an event that has a type.
func setBody(tx *sql.Tx, seq int64, kind string, b Body) error {
	body, err := json.Marshal(b)
	if err == nil {
		_, err = tx.Exec("UPDATE events SET body = ? WHERE seq = ? AND type = ?", body, seq, kind)
	}
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}
