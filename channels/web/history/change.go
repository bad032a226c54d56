package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
		if _, err := tx.Exec("UPDATE chats SET title = '' WHERE id = $1 AND title = $2", chat,
			chatTitle(m.Body)); err != nil {
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

// Edit replaces the text of a message that the actor has sent last, and appends an event of the
// type Edited, for which d has the key, the limit and the new text. The gateway is to receive the
// message again, also with the same text.
func (h *History) Edit(ctx context.Context, d NewEvent) (e Event, err error) {
	err = h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		var found bool
		if e, found, err = findRepeated(tx, d); found || err != nil { // its message may no longer be the last
			return nil, err
		}
		m, err := editable(tx, d)
		if err != nil {
			return nil, err
		}
		text := d.Text
		d.Type, d.ForGateway, d.Body = Edited, true, Body{From: m.From, User: m.User, Language: d.Language, Runs: m.Runs + 1}
		if e, _, err = h.appendTx(tx, d); err != nil {
			return nil, err
		}
		// The first message of a chat is its title.
		before := chatTitle(m.Body)
		m.Edited, m.Runs, m.Text, h.writer.erased = m.Edited || text != m.Text, e.Runs, text, true
		_, err = tx.Exec("UPDATE chats SET title = $1 WHERE id = $2 AND title = $3", chatTitle(m.Body), d.Chat, before)
		if err != nil {
			return nil, fmt.Errorf("write title: %w", err)
		}
		e.Message = &m
		return &e, setBody(tx, m.Seq, Message, m.Body)
	})
	return e, err
}

// editable returns the message that an event edits, if that is the last one of the actor.
func editable(tx *sql.Tx, d NewEvent) (Event, error) {
	m, found, err := scanEvent(tx.Query(selectMessage, d.Chat, d.ID))
	switch {
	case err != nil:
		return m, err
	case !found:
		return m, refusal{ErrNoMessage}
	case m.From != "user" || m.User != d.Actor.User || m.Removed:
		return m, refusal{ErrNotLast}
	case strings.TrimSpace(d.Text) == "" && len(m.Media) == 0:
		return m, refusal{ErrEmpty}
	}
	later, err := scanEvents(tx.Query(selectEvents+" WHERE e.chat = $1 AND e.seq > $2 AND e.type = 'message' AND "+
		bodyText+` '{"from":"user"%'`, d.Chat, m.Seq))
	if slices.ContainsFunc(later, func(e Event) bool { return e.User == m.User }) {
		err = refusal{ErrNotLast}
	}
	return m, err
}

// Reserve reserves a number for a message that may be inserted later.
func (h *History) Reserve(ctx context.Context, chat, id string) (seq int64, err error) {
	err = h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		_, _, err := readOwner(tx, chat, Actor{All: true})
		if err != nil {
			return nil, err
		}
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
		if _, _, err := readOwner(tx, d.Chat, d.Actor); err != nil {
			return nil, err
		}
		if err := setBody(tx, seq, reserved, d.Body); err != nil {
			return nil, err
		}
		r, err := tx.Exec("UPDATE events SET type = $1 WHERE seq = $2 AND type = $3", Message, seq, reserved)
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
		_, err = tx.Exec("UPDATE events SET body = $1 WHERE seq = $2 AND type = $3", body, seq, kind)
	}
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}
