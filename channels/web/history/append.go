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

// The errors of refused changes.
var (
	ErrNotOwner       = errors.New("the chat belongs to another user")
	ErrTooManyWaiting = errors.New("too many messages are waiting in this chat")
	ErrTooManyChats   = errors.New("the user has too many chats")
	ErrNoButton       = errors.New("there is no such button")
	ErrAlreadyPressed = errors.New("the question is no longer open")
	ErrNoMessage      = errors.New("there is no such message")
	ErrNotLast        = errors.New("only a person's own last message can be edited")
	ErrEmpty          = errors.New("a message needs a text or a file")
	ErrDeleted        = errors.New("the chat was deleted")
)

// Actor is the user who does something. With All set the user may use every chat, otherwise only
// their own.
type Actor struct {
	User string
	All  bool
}

// canUse reports whether the actor may use the chats of an owner.
func (p Actor) canUse(owner string) bool { return p.All || owner == p.User }

// BotKeyPrefix starts the keys of the bot's messages. The idempotency key of the gateway follows.
const BotKeyPrefix = "bot "

// NewEvent is an event that is to be appended.
type NewEvent struct {
	Chat string
	// Actor is the user who causes the event. A chat that does not exist yet becomes theirs.
	Actor Actor
	Type  string
	ID    string
	// Key, if not "", is an idempotency key, unique among the events of all chats.
	Key string
	// ForGateway says that the gateway is to receive the event. MaxWaiting, if not 0, is how many
	// events of a chat may wait for it.
	ForGateway bool
	MaxWaiting int
	// MaxChats, if not 0, is how many chats with messages a user may own who cannot use all chats.
	MaxChats int
	Body
}

// Append stores an event. If an event with the same key exists, Append returns that one, and added
// is false. It is also false after an error.
func (h *History) Append(ctx context.Context, d NewEvent) (e Event, added bool, err error) {
	err = h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		var err error
		if e, added, err = h.appendTx(tx, d); !added {
			return nil, err
		}
		return &e, err
	})
	return e, added && err == nil, err // a failed transaction also undoes the changes of other callers
}

func (h *History) appendTx(tx *sql.Tx, d NewEvent) (Event, bool, error) {
	if before, found, err := findRepeated(tx, d); found || err != nil {
		return before, false, err
	}
	if d.User != "" {
		var err error
		if d.Name, err = scanName(tx.QueryRow(selectName, d.User)); err != nil {
			return Event{}, false, err
		}
	}
	e := Event{Chat: d.Chat, Owner: d.Actor.User, Type: d.Type, ID: d.ID, Time: h.now(), Body: d.Body}
	owner, known, err := readOwner(tx, d.Chat, d.Actor)
	if err != nil {
		return e, false, err
	}
	if known {
		e.Owner = owner
	}
	if !known && d.MaxChats > 0 && !d.Actor.All {
		var owned int
		if err := tx.QueryRow("SELECT count(*) FROM chats WHERE owner = $1 AND updated > 0",
			d.Actor.User).Scan(&owned); err != nil {
			return e, false, fmt.Errorf("count chats: %w", err)
		}
		if owned >= d.MaxChats {
			return e, false, refusal{ErrTooManyChats}
		}
	}
	if d.MaxWaiting > 0 {
		var waiting int
		if err := tx.QueryRow("SELECT count(*) FROM events WHERE taken = 0 AND chat = $1",
			d.Chat).Scan(&waiting); err != nil {
			return e, false, fmt.Errorf("count waiting messages: %w", err)
		}
		if waiting >= d.MaxWaiting {
			return e, false, refusal{ErrTooManyWaiting}
		}
	}
	if err := saveChat(tx, e, known); err != nil {
		return e, false, fmt.Errorf("write chat: %w", err)
	}
	e.Seq, err = insertEvent(tx, e, d.Key, d.ForGateway)
	return e, err == nil, err
}

// findRepeated returns the event with the idempotency key of a new one, if there is one.
func findRepeated(tx *sql.Tx, d NewEvent) (before Event, found bool, err error) {
	if d.Key == "" {
		return Event{}, false, nil
	}
	before, found, err = scanEvent(tx.Query(selectEvents+" WHERE e.key = $1", d.Key))
	if found && err == nil && (before.Chat != d.Chat || !d.Actor.canUse(before.Owner)) {
		return Event{}, false, refusal{ErrNotOwner}
	}
	return before, found, err
}

// readOwner returns the owner of a chat, if the chat exists. It refuses an actor who may not use
// the chat, and a deleted chat.
func readOwner(tx *sql.Tx, chat string, p Actor) (owner string, found bool, err error) {
	var deleted int
	err = tx.QueryRow("SELECT owner, deleted FROM chats WHERE id = $1", chat).Scan(&owner, &deleted)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("read chat: %w", err)
	case !p.canUse(owner):
		return "", false, refusal{ErrNotOwner}
	case deleted != 0:
		return "", false, refusal{ErrDeleted}
	}
	return owner, true, nil
}

// saveChat creates a chat, or sets the time of its last event. An owner's ID is no longer the name
// of somebody else.
func saveChat(tx *sql.Tx, e Event, known bool) error {
	var err error
	if known {
		_, err = tx.Exec("UPDATE chats SET title = CASE updated WHEN 0 THEN $1 ELSE title END, updated = $2 WHERE id = $3",
			chatTitle(e.Body), e.Time.UnixMilli(), e.Chat)
	} else {
		_, err = tx.Exec("INSERT INTO chats (id, owner, title, updated) VALUES ($1, $2, $3, $4)", e.Chat, e.Owner,
			chatTitle(e.Body), e.Time.UnixMilli())
		if err == nil {
			_, err = tx.Exec("DELETE FROM people WHERE folded = $1 AND id <> $2", foldName(e.Owner), e.Owner)
		}
	}
	return err
}

func insertEvent(tx *sql.Tx, e Event, key string, waits bool) (int64, error) {
	body, err := json.Marshal(e.Body)
	if err != nil {
		return 0, fmt.Errorf("write event: %w", err)
	}
	taken := 1
	if waits {
		taken = 0
	}
	var seq int64
	if err := tx.QueryRow(`INSERT INTO events (chat, type, id, time, key, taken, body)
		VALUES ($1, $2, $3, $4, nullif($5, ''), $6, $7) RETURNING seq`,
		e.Chat, e.Type, e.ID, e.Time.UnixMilli(), key, taken, body).Scan(&seq); err != nil {
		return 0, fmt.Errorf("write event: %w", err)
	}
	for _, m := range e.Media {
		if err == nil {
			_, err = tx.Exec("INSERT INTO media (id, seq, chat, name, type) VALUES ($1, $2, $3, $4, $5)", m.ID, seq, e.Chat,
				m.Name, m.Type)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("write files of event: %w", err)
	}
	return seq, nil
}

// Press presses a button under a message, which is possible once, unless the button stays. The
// press waits for the gateway.
func (h *History) Press(ctx context.Context, d NewEvent) (e Event, err error) {
	err = h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		m, found, err := scanEvent(tx.Query(selectMessage, d.Chat, d.ID))
		at := slices.IndexFunc(m.Buttons, func(b channels.Button) bool { return b.Data == d.Data })
		switch {
		case err != nil:
			return nil, err
		case !found || at < 0:
			return nil, refusal{ErrNoButton}
		case !d.Actor.canUse(m.Owner):
			return nil, refusal{ErrNotOwner}
		case m.Pressed != "" || m.Outcome != "":
			return nil, refusal{ErrAlreadyPressed}
		}
		d.Type, d.ForGateway = Pressed, true
		if !m.Buttons[at].Stays {
			d.MaxWaiting = 0 // there is at most one press of a message
			if _, err := tx.Exec("UPDATE events SET pressed = $1 WHERE seq = $2", d.Data, m.Seq); err != nil {
				return nil, fmt.Errorf("note press: %w", err)
			}
		}
		e, _, err = h.appendTx(tx, d)
		return &e, err
	})
	return e, err
}

// MarkReceived stores that the gateway has received events.
func (h *History) MarkReceived(ctx context.Context, seqs []int64) error {
	return h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		for _, seq := range seqs {
			if _, err := tx.Exec("UPDATE events SET taken = 1 WHERE seq = $1", seq); err != nil {
				return nil, fmt.Errorf("note what was taken: %w", err)
			}
		}
		return nil, nil
	})
}

// maxTitle is how many characters the title of a chat has.
const maxTitle = 60

// chatTitle returns the beginning of a chat's first message, or the name of its first file.
func chatTitle(b Body) string {
	for line := range strings.Lines(b.Text) {
		if words := strings.Join(strings.Fields(line), " "); words != "" {
			return truncateTitle(words)
		}
	}
	if len(b.Media) > 0 {
		return truncateTitle(b.Media[0].Name)
	}
	return ""
}

func truncateTitle(title string) string {
	if letters := []rune(title); len(letters) > maxTitle {
		return strings.TrimSpace(string(letters[:maxTitle-1])) + "…"
	}
	return title
}
