package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/dbfile"
)

// Migrate upgrades the schema of the state in dir, on a connection whose statements edit may
// change.
func Migrate(ctx context.Context, dir string, edit func(query string) string) error {
	c, err := dbfile.Connector(filepath.Join(dir, Database), nil, "synchronous(FULL)")
	if err != nil {
		return err
	}
	t, err := connect(ctx, c)
	if err != nil {
		return err
	}
	t.driver = editingConn{t.driver, edit}
	if _, err := t.queryRow("PRAGMA journal_mode = WAL", nil, new(string)); err != nil {
		return errors.Join(err, t.close())
	}
	return errors.Join(t.migrate(), t.close())
}

// editingConn is a connection whose statements are edited before they are parsed.
type editingConn struct {
	driver.Conn
	edit func(query string) string
}

func (e editingConn) Prepare(query string) (driver.Stmt, error) { return e.Conn.Prepare(e.edit(query)) }

// RememberMany stores a memory of many chats in one transaction.
func RememberMany(ctx context.Context, s *Store, n int, chat func(int) channels.Chat) error {
	return s.change(ctx, "remember", func(t *tx) {
		for i := range n {
			s.chatsWithMemories.add(chat(i).String())
			saveMemory(t, chat(i), store.Memory{Key: "key", Value: "value"})
		}
	})
}

// SchemaVersion is schemaVersion.
const SchemaVersion = schemaVersion

// GoesLast is goesLast.
const GoesLast = goesLast
