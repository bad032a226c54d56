package history

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"

	"nanobot/internal/dbfile"
)

// Personal is what the history has of a person: their chats, and what they have written in those of
// others.
type Personal struct {
	Name          string   `json:"name,omitempty"`
	Chats         []Chat   `json:"chats"`
	Events        []Event  `json:"events"`
	Subscriptions []string `json:"subscriptions"` // the origins of pages that notify browsers
}

// Files returns the paths of the files that are in the history, by their IDs.
func (h *History) Files(events []Event) map[string]string {
	paths := map[string]string{}
	for _, e := range events {
		for _, m := range e.Media {
			if _, saved := m.Saved(); !saved {
				paths[m.ID] = filepath.Join(h.files, m.ID)
			}
		}
	}
	return paths
}

// ReadPerson returns what is stored of a person. answers are the IDs of the bot's messages in the
// chats of others that answer them.
func (h *History) ReadPerson(ctx context.Context, person string, answers map[string][]string) (p Personal, err error) {
	if p.Name, err = h.Name(ctx, person); err != nil {
		return p, err
	}
	rows, err := h.read.QueryContext(ctx, selectChats+" WHERE c.owner = $1 ORDER BY c.id", person)
	if err != nil {
		return p, err
	}
	defer rows.Close() //nolint:errcheck // Err says it
	p.Chats, p.Events, p.Subscriptions = []Chat{}, []Event{}, []string{}
	for rows.Next() {
		c, err := scanChat(rows)
		if err != nil {
			return p, err
		}
		p.Chats = append(p.Chats, c)
	}
	byBot := ""
	if len(answers) > 0 {
		byBot = `{"from":"bot"%`
	}
	for after := int64(0); err == nil; {
		var events []Event
		// The condition on the body is weaker than that below.
		events, err = scanEvents(h.read.QueryContext(ctx, selectEvents+" WHERE e.seq > $1 AND (c.owner = $2 OR "+bodyText+
			" $3 OR "+bodyText+" $4) ORDER BY e.seq LIMIT $5", after, person, `%"user":"`+person+`"%`, byBot, pruneBatch))
		if len(events) == 0 {
			break
		}
		after = events[len(events)-1].Seq
		p.Events = append(p.Events, slices.DeleteFunc(events, func(e Event) bool {
			return e.Owner != person && e.User != person && !slices.Contains(answers[e.Chat], e.ID)
		})...)
	}
	for i, e := range p.Events {
		if e.Owner != person {
			p.Events[i].ChatTitle = ""
		}
	}
	all, subscriptionsErr := h.Subscriptions(ctx, person, false)
	for _, s := range all {
		p.Subscriptions = append(p.Subscriptions, s.Origin)
	}
	if err == nil {
		err = subscriptionsErr
	}
	return p, err
}

// Forget removes what is stored of a person, as ReadPerson returns it, with the files. It returns
// how many events it has removed.
func (h *History) Forget(ctx context.Context, person string, answers map[string][]string) (int, error) {
	p, err := h.ReadPerson(ctx, person, answers)
	if err != nil {
		return 0, err
	}
	for id := range h.Files(p.Events) { // before the rows, which name them
		h.RemoveFiles([]Media{{ID: id}})
	}
	for part := range slices.Chunk(p.Events, pruneBatch) {
		err := h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
			h.writer.erased = true
			for _, e := range part {
				if err := forgetEvent(tx, e); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
		if err != nil {
			return 0, err
		}
	}
	return len(p.Events), h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		h.writer.erased = true
		for _, statement := range []string{
			"DELETE FROM media WHERE chat IN (SELECT id FROM chats WHERE owner = $1)",
			"DELETE FROM events WHERE chat IN (SELECT id FROM chats WHERE owner = $1)",
			"DELETE FROM chats WHERE owner = $1", "DELETE FROM people WHERE id = $1",
			"DELETE FROM push_subscriptions WHERE owner = $1",
		} {
			if _, err := tx.Exec(statement, person); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}

// forgetEvent removes an event. The first message of a chat is its title.
func forgetEvent(tx *sql.Tx, e Event) error {
	_, err := tx.Exec("UPDATE chats SET title = '' WHERE id = $1 AND title = $2", e.Chat, chatTitle(e.Body))
	for _, table := range []string{"media", "events"} {
		if err == nil {
			_, err = tx.Exec("DELETE FROM "+table+" WHERE seq = $1", e.Seq)
		}
	}
	return err
}

// EraseRemoved removes what was deleted from the file of the history, if it has one.
func (h *History) EraseRemoved(ctx context.Context) error {
	if h.o.Server != nil {
		return nil
	}
	return dbfile.Vacuum(ctx, h.path)
}
