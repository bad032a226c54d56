package history

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"nanobot/internal/dbfile"
)

// Snapshot copies the database of a history while it may be in use. The gateway's own store is
// copied by copyStore, at a moment that lies between two moments of the history, and the copy is
// made to agree with it:
//   - What people said and the gateway may not have received by then is offered to it again.
//   - What the bot said and that store does not know is left out of the copy: the turn that said it
//     was not done by then, runs again, and says it again. Without that, people would see the answer
//     twice.
//
// knows tells whether the copied store has a message of that key, sent or not. Snapshot returns the
// names of the files that came with what was said.
func Snapshot(ctx context.Context, dir, to string, copyStore func() (knows func(key string) bool, err error)) (media []string, err error) {
	path := filepath.Join(dir, Database)
	if err := dbfile.Inspect(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	c, err := connector(path, "query_only(1)")
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	defer func() { err = errors.Join(err, db.Close()) }()
	var have int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, dbfile.Explain(err))
	}
	if have > version {
		return nil, fmt.Errorf("%s: %w", path, dbfile.Newer(have, version))
	}
	var then before
	err = db.QueryRowContext(ctx, `SELECT coalesce((SELECT min(seq) FROM events WHERE taken = 0), next), next
		FROM (SELECT coalesce((SELECT seq + 1 FROM sqlite_sequence WHERE name = 'events'), 0) AS next)`).Scan(&then.untaken, &then.next)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, dbfile.Explain(err))
	}
	if then.knows, err = copyStore(); err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // db.Close says it
	copied := filepath.Join(to, Database)
	err = conn.Raw(func(raw any) error { return dbfile.Copy(ctx, raw.(driver.Conn), copied) })
	if err == nil {
		media, err = agree(ctx, copied, then)
	}
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", path, err)
	}
	return media, nil
}

// before is what was known of a history when the gateway's store was copied.
type before struct {
	untaken int64                 // the number of the first event that the gateway may not have had
	next    int64                 // the number of the first event that came later
	knows   func(key string) bool // tells whether that store has a message of the bot
}

// agree makes the copy of a history agree with a copy of the gateway's store. It returns the files
// that the history needs.
func agree(ctx context.Context, path string, b before) (media []string, err error) {
	c, err := connector(path, "journal_mode(DELETE)", "synchronous(FULL)") // one file
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := unsay(ctx, db, b); err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "UPDATE events SET taken = 0 WHERE seq >= ? AND (type = 'pressed' OR CAST(body AS TEXT) ->> 'from' = 'user')", b.untaken)
	if err != nil {
		return nil, err
	}
	return column[string](db.QueryContext(ctx, "SELECT id FROM media"))
}

// unsay removes the bot's messages that the gateway's store does not know, with what was pressed
// under them.
func unsay(ctx context.Context, db *sql.DB, b before) error {
	keys, err := column[string](db.QueryContext(ctx, "SELECT key FROM events WHERE seq >= ? AND key >= ? AND key < ?", b.next, BotKey, BotKey+"\uffff"))
	for _, key := range keys {
		if err != nil {
			return err
		}
		if !b.knows(strings.TrimPrefix(key, BotKey)) {
			_, err = db.ExecContext(ctx, "DELETE FROM events WHERE key = ?", key)
		}
	}
	for _, orphans := range []string{
		`DELETE FROM events AS p WHERE type = 'pressed' AND seq >= ?
			AND NOT EXISTS (SELECT 1 FROM events AS m WHERE m.type = 'message' AND m.chat = p.chat AND m.id = p.id)`,
		"DELETE FROM media WHERE seq >= ? AND NOT EXISTS (SELECT 1 FROM events WHERE events.seq = media.seq)",
	} {
		if err == nil {
			_, err = db.ExecContext(ctx, orphans, b.next)
		}
	}
	return err
}

// CheckCopy finds out whether a file is a whole and sound history of a schema that this nanobot
// knows.
func CheckCopy(ctx context.Context, path string) error { return dbfile.CheckSchema(ctx, path, version) }
