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

// Snapshot copies the database of a history, which may be in use. Meanwhile copyStore copies the
// gateway's store, and the copy of the history is reconciled with that copy:
//   - Messages of people that the gateway may not have received are offered to it again.
//   - Messages of the bot that the store does not have are removed: their turn was not finished,
//     runs again and sends them again. Otherwise people would see the answer twice.
//
// knows reports whether the copied store has a message with that key, sent or not. Snapshot returns
// the names of the files of the messages.
func Snapshot(ctx context.Context, dir, to string,
	copyStore func() (knows func(key string) bool, err error),
) (media []string, err error) {
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
	if have > schemaVersion {
		return nil, fmt.Errorf("%s: %w", path, dbfile.Newer(have, schemaVersion))
	}
	var then gatewayCopy
	err = db.QueryRowContext(ctx, `SELECT coalesce((SELECT min(seq) FROM events WHERE taken = 0), next), next
		FROM (SELECT coalesce((SELECT seq + 1 FROM sqlite_sequence WHERE name = 'events'), 0) AS next)`).Scan(&then.firstWaiting, &then.next)
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
		media, err = reconcile(ctx, copied, then)
	}
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", path, err)
	}
	return media, nil
}

// gatewayCopy describes the history at the time when the gateway's store was copied.
type gatewayCopy struct {
	firstWaiting int64                 // number of the first event that the gateway may not have received
	next         int64                 // number of the first event after the copy
	knows        func(key string) bool // reports whether the copied store has a message of the bot
}

// reconcile adapts the copy of a history to a copy of the gateway's store. It returns the files
// that the history needs.
func reconcile(ctx context.Context, path string, b gatewayCopy) (media []string, err error) {
	c, err := connector(path, "journal_mode(DELETE)", "synchronous(FULL)") // without a write-ahead log
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := removeUnknownAnswers(ctx, db, b); err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx,
		"UPDATE events SET taken = 0 WHERE seq >= ? AND "+
			"(type IN ('pressed', 'deleted') OR CAST(body AS TEXT) ->> 'from' = 'user')",
		b.firstWaiting)
	if err != nil {
		return nil, err
	}
	return scanColumn[string](db.QueryContext(ctx, "SELECT id FROM media"))
}

// removeUnknownAnswers deletes the bot's messages that the gateway's store does not have, with the
// presses of their buttons.
func removeUnknownAnswers(ctx context.Context, db *sql.DB, b gatewayCopy) error {
	keys, err := scanColumn[string](db.QueryContext(ctx, "SELECT key FROM events WHERE seq >= ? AND key >= ? AND key < ?",
		b.next, BotKeyPrefix, BotKeyPrefix+"\uffff"))
	for _, key := range keys {
		if err != nil {
			return err
		}
		if !b.knows(strings.TrimPrefix(key, BotKeyPrefix)) {
			_, err = db.ExecContext(ctx, "DELETE FROM events WHERE key = ?", key)
		}
	}
	for _, dangling := range []string{
		`DELETE FROM events AS p WHERE type = 'pressed' AND seq >= ?
			AND NOT EXISTS (SELECT 1 FROM events AS m WHERE m.type = 'message' AND m.chat = p.chat AND m.id = p.id)`,
		"DELETE FROM media WHERE seq >= ? AND NOT EXISTS (SELECT 1 FROM events WHERE events.seq = media.seq)",
	} {
		if err == nil {
			_, err = db.ExecContext(ctx, dangling, b.next)
		}
	}
	return err
}

// CheckCopy returns an error unless a file is an undamaged history with a schema that this nanobot
// knows.
func CheckCopy(ctx context.Context, path string) error {
	return dbfile.CheckSchema(ctx, path, schemaVersion)
}
