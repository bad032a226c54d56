package sqlite

import (
	"context"
	"encoding/json"
	"errors"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
	"nanobot/internal/dbfile"
)

// people implements store.People.
type people struct{ *state }

// PrivateChats returns the chats in which only one person has written.
func (s people) PrivateChats(ctx context.Context, p store.Person) ([]channels.Chat, error) {
	return readAll(ctx, s.state, "read the chats of "+p.User, scanChat,
		"SELECT c.chat FROM (SELECT DISTINCT i.chat FROM inbox i WHERE "+senderCondition+
			" AND i.incoming ->> '$.group' IS NULL) c WHERE NOT EXISTS (SELECT 1 FROM inbox i WHERE i.chat = c.chat AND "+
			responsiblePerson+" <> ?2) ORDER BY c.chat", p.Channel, p.User)
}

// personQuery returns a statement on rows of a person. Its arguments are those of personArgs.
func personQuery(statement string) string {
	return prepared.PersonQuery(`who (channel, person) AS (SELECT ?1, ?2),
		own (chat) AS (SELECT value FROM json_each(?3)), mine (id) AS (SELECT value FROM json_each(?4))`, statement,
		"@person", "user", "@sender", "incoming ->> '$.user.id'", "@quote_user", "incoming ->> '$.reply_to.user.id'",
		"@quote_id", "incoming ->> '$.reply_to.id'",
		"@without_quote", "json_remove(incoming, '$.reply_to.text', '$.reply_to.media', '$.reply_to.user')")
}

// personArgs finds the inbound messages of a person, with ended only those that have ended or were
// dismissed.
func (s people) personArgs(ctx context.Context, d store.PersonData, ended bool) ([]any, error) {
	chats := make([]string, 0, len(d.Chats))
	for _, chat := range d.Chats {
		chats = append(chats, chat.String())
	}
	own := prepared.JSON(chats)
	ids, err := readAll(ctx, s.state, "read the messages of "+d.User, column[int64],
		"SELECT i.id FROM inbox i WHERE ("+senderCondition+` OR i.chat IN (SELECT value FROM json_each(?3)))
			AND (NOT ?4 OR i.ended > 0 OR i.status = ?5)`, d.Channel, d.User, own, ended, store.Revoked)
	return []any{d.Channel, d.User, own, prepared.JSON(append([]int64{}, ids...))}, err
}

// ReadPerson returns what is stored of a person.
func (s people) ReadPerson(ctx context.Context, d store.PersonData) (map[string][]json.RawMessage, error) {
	args, err := s.personArgs(ctx, d, false)
	all := map[string][]json.RawMessage{}
	for _, table := range prepared.PersonTables {
		if table.Name != "" && err == nil {
			all[table.Name], err = s.readPersonTable(ctx, table, args)
		}
	}
	return all, wrapError("read what is stored of "+d.User, err)
}

func (s people) readPersonTable(ctx context.Context, table prepared.PersonTable, args []any) (
	[]json.RawMessage, error,
) {
	query := personQuery("SELECT * FROM " + table.Table + " WHERE " + table.Of + " ORDER BY 1")
	rows, err := s.readDB.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err says it
	columns, err := rows.Columns()
	all := []json.RawMessage{}
	for err == nil && rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		err = rows.Scan(into...)
		row := map[string]any{}
		for i, name := range columns {
			row[name] = values[i]
		}
		var text json.RawMessage
		if err == nil {
			text, err = prepared.ExportedRow(row, table.Hidden)
		}
		all = append(all, text)
	}
	return all, errors.Join(err, rows.Err())
}

// ForgetPerson removes what is stored of a person.
func (s people) ForgetPerson(ctx context.Context, d store.PersonData) (map[string]int, error) {
	args, err := s.personArgs(ctx, d, true)
	if err != nil {
		return nil, err
	}
	removed, unused, err := changedPair(ctx, s.state, "forget "+d.User, func(t *tx) (map[string]int, []string) {
		t.erased = true
		removed, folders := map[string]int{}, []string{}
		for _, table := range prepared.PersonTables {
			if table.Table == "spooled" {
				folders = queryAllTx(t, column[string], personQuery("SELECT folder FROM spooled WHERE "+table.Of), args...)
			}
			if table.Before != "" {
				t.exec(personQuery(table.Before), args...)
			}
			if n := t.execCount(personQuery(table.Remove()), args...); n > 0 && table.Name != "" {
				removed[table.Name] += n
			}
		}
		return removed, unreferencedCopies(t, folders)
	})
	s.spool.Remove(unused)
	return removed, err
}

// EraseRemoved writes the index of searches, which keeps the words of deleted messages until its
// parts are merged, and then the whole database again.
func (s people) EraseRemoved(ctx context.Context) error {
	err := s.change(ctx, "merge the index of searches", func(t *tx) {
		t.exec("INSERT INTO search (search) VALUES ('optimize')")
	})
	if err != nil {
		return err
	}
	return wrapError("write the database again", dbfile.Vacuum(ctx, s.path))
}
