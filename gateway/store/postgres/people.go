package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// PrivateChats returns the chats in which only one person has written.
func (s people) PrivateChats(ctx context.Context, p store.Person) ([]channels.Chat, error) {
	keys, err := readAll[string](ctx, s.state, "read the chats of "+p.User, `SELECT to_json(chat::text) FROM inbox i
		WHERE is_of(i, $1, $2) AND incoming::json->>'group' IS NULL GROUP BY chat HAVING only_of(chat, $2) ORDER BY chat`,
		p.Channel, p.User)
	chats := make([]channels.Chat, len(keys))
	for i, key := range keys {
		chats[i], _ = channels.ParseChat(key)
	}
	return chats, err
}

// personTables are the tables with rows of a person.
func personTables() []prepared.PersonTable {
	return append([]prepared.PersonTable{prepared.ForwardedTable}, prepared.PersonTables...)
}

// personQuery returns a statement on rows of a person. Its arguments are those of personArgs.
func personQuery(statement string) string {
	return prepared.PersonQuery(`who (channel, person) AS (SELECT $1::word, $2::word),
		own (chat) AS (SELECT jsonb_array_elements_text($3::jsonb)::word),
		mine (id) AS (SELECT jsonb_array_elements_text($4::jsonb)::bigint)`, statement,
		"@person", "person", "@sender", "incoming::json->'user'->>'id'",
		"@quote_user", "incoming::json->'reply_to'->'user'->>'id'", "@quote_id", "incoming::json->'reply_to'->>'id'",
		"@without_quote", "(incoming::jsonb #- '{reply_to,text}' #- '{reply_to,media}' #- '{reply_to,user}')::text")
}

// personArgs finds the inbound messages of a person, with ended only those that have ended or were
// dismissed.
func (s people) personArgs(ctx context.Context, d store.PersonData, ended bool) ([]any, error) {
	chats := make([]string, 0, len(d.Chats))
	for _, chat := range d.Chats {
		chats = append(chats, chat.String())
	}
	own := encodeJSON(chats)
	ids, err := readAll[int64](ctx, s.state, "read the messages of "+d.User, `SELECT to_json(id) FROM inbox i
		WHERE (is_of(i, $1, $2) OR chat IN (SELECT jsonb_array_elements_text($3::jsonb)))
			AND (NOT $4 OR ended > 0 OR status = 'revoked')`, d.Channel, d.User, own, ended)
	return []any{replaceInvalid(d.Channel), replaceInvalid(d.User), own, encodeJSON(append([]int64{}, ids...))}, err
}

// ReadPerson returns what is stored of a person.
func (s people) ReadPerson(ctx context.Context, d store.PersonData) (map[string][]json.RawMessage, error) {
	args, err := s.personArgs(ctx, d, false)
	all := map[string][]json.RawMessage{}
	for _, table := range personTables() {
		if table.Name == "" || err != nil {
			continue
		}
		var rows []map[string]any
		rows, err = readAll[map[string]any](ctx, s.state, "read what is stored of "+d.User,
			personQuery("SELECT to_json(t) FROM (SELECT * FROM "+table.Table+" WHERE "+table.Of+" ORDER BY 1) t"), args...)
		all[table.Name] = []json.RawMessage{}
		for _, row := range rows {
			var text json.RawMessage
			if err == nil {
				text, err = prepared.ExportedRow(row, table.Hidden)
			}
			all[table.Name] = append(all[table.Name], text)
		}
	}
	return all, err
}

// ForgetPerson removes what is stored of a person.
func (s people) ForgetPerson(ctx context.Context, d store.PersonData) (removed map[string]int, err error) {
	args, err := s.personArgs(ctx, d, true)
	if err != nil {
		return nil, err
	}
	var unused []string
	err = s.retry(ctx, func(context.Context) error {
		removed, unused = map[string]int{}, nil
		return pgx.BeginFunc(ctx, s.pool, func(t pgx.Tx) (err error) {
			removed, unused, err = forgetPerson(ctx, t, args)
			return err
		})
	})
	if err == nil {
		s.spool.Remove(unused)
	}
	return removed, wrapError("forget "+d.User, err)
}

// forgetPerson removes the rows of a person, and returns the copies that no delivery needs any
// more.
func forgetPerson(ctx context.Context, t pgx.Tx, args []any) (removed map[string]int, unused []string, err error) {
	_, err = t.Exec(ctx, "SET LOCAL statement_timeout = 0")
	if err == nil { // whoever changes a chat sees all of a message or nothing
		_, err = t.Exec(ctx, `SELECT lock_chats(ARRAY['pairing'] || ARRAY(SELECT jsonb_array_elements_text($1::jsonb))
			|| ARRAY(SELECT chat::text FROM inbox WHERE id IN (SELECT jsonb_array_elements_text($2::jsonb)::bigint)))`, args[2:]...)
	}
	removed = map[string]int{}
	var folders []string
	for _, table := range personTables() {
		if table.Table == "spooled" && err == nil {
			var rows pgx.Rows
			rows, err = t.Query(ctx, personQuery("SELECT folder::text FROM spooled WHERE "+table.Of), args...)
			if err == nil {
				folders, err = pgx.CollectRows(rows, pgx.RowTo[string])
			}
		}
		if table.Before != "" && err == nil {
			_, err = t.Exec(ctx, personQuery(table.Before), args...)
		}
		if err != nil {
			return nil, nil, err
		}
		done, err := t.Exec(ctx, personQuery(table.Remove()), args...)
		if err != nil {
			return nil, nil, fmt.Errorf("table %s: %w", table.Table, err)
		}
		if n := int(done.RowsAffected()); n > 0 && table.Name != "" {
			removed[table.Name] += n
		}
	}
	rows, err := t.Query(ctx, "SELECT f FROM unnest($1::text[]) f WHERE f NOT IN (SELECT folder FROM spooled)", folders)
	if err == nil {
		unused, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	return removed, unused, err
}

// EraseRemoved has the server remove the deleted rows from the files of all tables of the schema,
// and their words from the index of searches. It cannot remove them from the server's write-ahead
// log.
func (s people) EraseRemoved(ctx context.Context) error {
	tables, err := readValue[string](ctx, s.state, "list the tables", `SELECT to_json(string_agg(oid::regclass::text, ', '))
		FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'`, pgx.Identifier{s.schema}.Sanitize())
	if err != nil {
		return err
	}
	return wrapError("vacuum the tables", s.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		_, err := c.Exec(ctx, "SET statement_timeout = 0")
		if err == nil {
			_, err = c.Exec(ctx, "VACUUM "+tables)
		}
		if err == nil {
			_, err = c.Exec(ctx, "REINDEX INDEX CONCURRENTLY "+pgx.Identifier{s.schema, "search_words"}.Sanitize())
		}
		_, resetErr := c.Exec(ctx, "RESET statement_timeout")
		return errors.Join(err, resetErr)
	}))
}
