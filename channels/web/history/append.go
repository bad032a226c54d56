package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nanobot/channels"
)

// What is refused.
var (
	ErrForeign  = errors.New("this chat is somebody else's")
	ErrCrowded  = errors.New("too many messages wait in this chat already")
	ErrNoButton = errors.New("there is no such button")
	ErrPressed  = errors.New("a button of this message was pressed already")
)

// Party is who does something: a user, who has chats of their own, or somebody who may use all of
// them.
type Party struct {
	User string
	All  bool
}

// may tells whether a chat is for somebody.
func (p Party) may(owner string) bool { return p.All || owner == p.User }

// BotKey begins the keys of what the bot says. The gateway's key follows.
const BotKey = "bot "

// Draft is an event before it has happened.
type Draft struct {
	Chat string
	// By is who does it. A chat that is not there yet becomes theirs.
	By   Party
	Type string
	ID   string
	// Key, if not "", is what must not happen twice, in whatever chat.
	Key string
	// Waits says that the gateway is to have it. Most is how many may wait in a chat, if not 0.
	Waits bool
	Most  int
	Body
}

// Append makes a draft happen. If something with its key has happened before, that is what is
// returned, and fresh is false. It is false as well when nothing has happened.
func (h *History) Append(ctx context.Context, d Draft) (e Event, fresh bool, err error) {
	err = h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		var err error
		if e, fresh, err = h.append(tx, d); !fresh {
			return nil, err
		}
		return &e, err
	})
	return e, fresh && err == nil, err // what was written with others is undone with them
}

func (h *History) append(tx *sql.Tx, d Draft) (Event, bool, error) {
	if d.Key != "" {
		before, found, err := one(tx.Query(selectEvents+" WHERE e.key = ?", d.Key))
		if found && err == nil && (before.Chat != d.Chat || !d.By.may(before.Owner)) {
			return Event{}, false, refusal{ErrForeign}
		}
		if found || err != nil {
			return before, false, err
		}
	}
	e := Event{Chat: d.Chat, Owner: d.By.User, Type: d.Type, ID: d.ID, Time: h.now(), Body: d.Body}
	known := true
	err := tx.QueryRow("SELECT owner FROM chats WHERE id = ?", d.Chat).Scan(&e.Owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		known = false
	case err != nil:
		return e, false, fmt.Errorf("read chat: %w", err)
	case !d.By.may(e.Owner):
		return e, false, refusal{ErrForeign}
	}
	if d.Most > 0 {
		var waiting int
		if err := tx.QueryRow("SELECT count(*) FROM events WHERE taken = 0 AND chat = ?", d.Chat).Scan(&waiting); err != nil {
			return e, false, fmt.Errorf("count waiting messages: %w", err)
		}
		if waiting >= d.Most {
			return e, false, refusal{ErrCrowded}
		}
	}
	if err := noteChat(tx, e, known); err != nil {
		return e, false, fmt.Errorf("write chat: %w", err)
	}
	e.Seq, err = insert(tx, e, d.Key, d.Waits)
	return e, err == nil, err
}

// noteChat makes a chat, or says that it is alive.
func noteChat(tx *sql.Tx, e Event, known bool) error {
	var err error
	if known {
		_, err = tx.Exec("UPDATE chats SET title = CASE updated WHEN 0 THEN ? ELSE title END, updated = ? WHERE id = ?",
			title(e.Body), e.Time.UnixMilli(), e.Chat)
	} else {
		_, err = tx.Exec("INSERT INTO chats (id, owner, title, updated) VALUES (?, ?, ?, ?)", e.Chat, e.Owner, title(e.Body), e.Time.UnixMilli())
	}
	return err
}

func insert(tx *sql.Tx, e Event, key string, waits bool) (int64, error) {
	body, err := json.Marshal(e.Body)
	if err != nil {
		return 0, fmt.Errorf("write event: %w", err)
	}
	r, err := tx.Exec("INSERT INTO events (chat, type, id, time, key, taken, body) VALUES (?, ?, ?, ?, nullif(?, ''), ?, ?)",
		e.Chat, e.Type, e.ID, e.Time.UnixMilli(), key, !waits, body)
	if err != nil {
		return 0, fmt.Errorf("write event: %w", err)
	}
	seq, err := r.LastInsertId()
	for _, m := range e.Media {
		if err == nil {
			_, err = tx.Exec("INSERT INTO media (id, seq, chat, name, type) VALUES (?, ?, ?, ?, ?)", m.ID, seq, e.Chat, m.Name, m.Type)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("write files of event: %w", err)
	}
	return seq, nil
}

// Press presses a button under a message, which can be done once, unless the button stays. The
// press waits for the gateway.
func (h *History) Press(ctx context.Context, d Draft) (e Event, err error) {
	err = h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		m, found, err := one(tx.Query(selectEvents+" WHERE e.chat = ? AND e.id = ? AND e.type = 'message'", d.Chat, d.ID))
		at := slices.IndexFunc(m.Buttons, func(b channels.Button) bool { return b.Data == d.Data })
		switch {
		case err != nil:
			return nil, err
		case !found || at < 0:
			return nil, refusal{ErrNoButton}
		case !d.By.may(m.Owner):
			return nil, refusal{ErrForeign}
		case m.Pressed != "":
			return nil, refusal{ErrPressed}
		}
		d.Type, d.Waits = Pressed, true
		if m.Buttons[at].Stays {
			if e, _, err = h.append(tx, d); err != nil {
				return nil, err
			}
			return &e, nil
		}
		d.Most = 0 // a message has one such press
		if _, err := tx.Exec("UPDATE events SET pressed = ? WHERE seq = ?", d.Data, m.Seq); err != nil {
			return nil, fmt.Errorf("note press: %w", err)
		}
		e, _, err = h.append(tx, d)
		return &e, err
	})
	return e, err
}

// Take notes that the gateway has events.
func (h *History) Take(ctx context.Context, seqs []int64) error {
	return h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		for _, seq := range seqs {
			if _, err := tx.Exec("UPDATE events SET taken = 1 WHERE seq = ?", seq); err != nil {
				return nil, fmt.Errorf("note what was taken: %w", err)
			}
		}
		return nil, nil
	})
}

// longestTitle is how many characters of its first message a chat is called by.
const longestTitle = 60

// title is the beginning of a chat's first message, or the name of its first file.
func title(b Body) string {
	for line := range strings.Lines(b.Text) {
		if words := strings.Join(strings.Fields(line), " "); words != "" {
			return cut(words)
		}
	}
	if len(b.Media) > 0 {
		return cut(b.Media[0].Name)
	}
	return ""
}

func cut(title string) string {
	if letters := []rune(title); len(letters) > longestTitle {
		return strings.TrimSpace(string(letters[:longestTitle-1])) + "…"
	}
	return title
}
