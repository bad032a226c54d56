package history

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nanobot/channels/downloads"
	"nanobot/internal/dbfile"
)

// CreateFile creates a file for a message. It is not served before a message refers to it.
func (h *History) CreateFile() (id string, f *os.File, err error) {
	id = rand.Text()
	f, err = os.OpenFile(filepath.Join(h.files, id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("make file: %w", err)
	}
	return id, f, nil
}

// RemoveFiles removes files that no message refers to.
func (h *History) RemoveFiles(media []Media) {
	for _, m := range media {
		_ = os.Remove(filepath.Join(h.files, m.ID)) // RemoveUnusedFiles removes it later
	}
}

// SavedName returns the name under which a file that a person has sent is saved in the chat's
// folder.
func SavedName(id, name string) string {
	return strings.ToLower(id[:savedIDLength]) + "-" + downloads.SavedName(name, "file")
}

// savedIDLength is how many characters of a file's ID the name of a saved file begins with.
const savedIDLength = 8

// OriginalName returns the name that a person gave a file, by the name of the saved file in the
// chat's folder. Any other name is returned unchanged.
func (h *History) OriginalName(ctx context.Context, chat, saved string) (string, error) {
	id, rest, ok := strings.Cut(saved, "-")
	if !ok || len(id) != savedIDLength {
		return saved, nil
	}
	id = strings.ToUpper(id)
	names, err := scanColumn[string](h.read.QueryContext(ctx,
		"SELECT name FROM media WHERE id > $1 AND id < $2 AND chat = $3", id, id+"\uffff", chat))
	for _, name := range names {
		if downloads.SavedName(name, "file") == rest {
			return name, err
		}
	}
	return saved, err
}

// SyncFiles makes the created files durable.
func (h *History) SyncFiles() error {
	if err := dbfile.SyncFolder(h.files); err != nil {
		return fmt.Errorf("keep files: %w", err)
	}
	return nil
}

// FindMedia returns the description of a file of a message that the actor may see, and its chat.
func (h *History) FindMedia(ctx context.Context, p Actor, id string) (m Media, chat string, err error) {
	var owner string
	var body []byte
	err = h.read.QueryRowContext(ctx,
		`SELECT m.id, m.name, m.type, m.chat, c.owner, coalesce(e.body, '{}') FROM media m JOIN chats c ON c.id = m.chat
		LEFT JOIN events e ON e.seq = m.seq WHERE m.id = $1 AND c.deleted = 0`, id).Scan(&m.ID, &m.Name, &m.Type, &chat, &owner, &body)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && !p.canUse(owner):
		return m, "", os.ErrNotExist
	case err != nil:
		return m, "", fmt.Errorf("read file: %w", err)
	}
	var b Body
	if err := json.Unmarshal(body, &b); err != nil {
		return m, "", fmt.Errorf("read file: %w", err)
	}
	for _, described := range b.Media {
		if described.ID == id {
			m = described
		}
	}
	return m, chat, nil
}

// OpenFile opens a file that is stored in the history.
func (h *History) OpenFile(id string) (*os.File, error) {
	return os.Open(filepath.Join(h.files, filepath.Base(id)))
}

// pruneBatch is how many events are deleted in one transaction.
const pruneBatch = 200

// Prune deletes events that are older than a time and that the gateway has received. It never
// deletes the owner of a chat: the agent's files in the chat's folder must not become another
// user's.
func (h *History) Prune(ctx context.Context, before time.Time) error {
	for after := int64(0); ; {
		next, err := h.pruneNext(ctx, before, after)
		if err != nil {
			return err
		}
		if next == 0 {
			break
		}
		after = next
	}
	return h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		_, err := tx.Exec(`UPDATE chats AS c SET updated = 0, title = '' WHERE updated > 0 AND updated < $1
			AND NOT EXISTS (SELECT 1 FROM events WHERE chat = c.id AND type = 'message')
			AND NOT EXISTS (SELECT 1 FROM events WHERE chat = c.id AND taken = 0)`, before.UnixMilli())
		return nil, err
	})
}

// pruneNext examines a batch of events after a number. It returns the number to continue after, or
// 0 if none of the events is old. Events with a wrong, later time delay it until that time is old,
// too.
func (h *History) pruneNext(ctx context.Context, before time.Time, after int64) (next int64, err error) {
	const old = " WHERE seq > $1 AND seq <= $2 AND time < $3 AND taken <> 0"
	var gone []string
	err = h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		err := tx.QueryRow("SELECT coalesce(max(seq), 0) FROM (SELECT seq, time FROM events WHERE seq > $1 ORDER BY seq "+
			"LIMIT $2) AS batch WHERE time < $3",
			after, pruneBatch, before.UnixMilli()).Scan(&next)
		if err != nil || next == 0 {
			return nil, err
		}
		args := []any{after, next, before.UnixMilli()}
		if gone, err = scanColumn[string](tx.Query("DELETE FROM media WHERE seq IN (SELECT seq FROM events"+old+
			") RETURNING id", args...)); err != nil {
			return nil, err
		}
		_, err = tx.Exec("DELETE FROM events"+old, args...)
		return nil, err
	})
	if err != nil {
		return 0, fmt.Errorf("forget old messages: %w", err)
	}
	for _, id := range gone {
		h.RemoveFiles([]Media{{ID: id}})
	}
	return next, nil
}

func scanColumn[T any](rows *sql.Rows, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err says it
	var values []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, rows.Err()
}

// unusedFileAge is how old a file without a message must be to be removed, since an upload takes
// time.
const unusedFileAge = 6 * time.Hour

// RemoveUnusedFiles removes files without a message, which a crash during an upload leaves behind.
func (h *History) RemoveUnusedFiles(ctx context.Context) error {
	folder, err := os.Open(h.files)
	if err != nil {
		return fmt.Errorf("sweep files: %w", err)
	}
	defer folder.Close()
	for ctx.Err() == nil {
		entries, err := folder.ReadDir(pruneBatch)
		if len(entries) == 0 {
			return nil // no files are left
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || h.o.Now().Sub(info.ModTime()) < unusedFileAge {
				continue
			}
			var id string
			if err = h.read.QueryRowContext(ctx, "SELECT id FROM media WHERE id = $1", e.Name()).Scan(&id); errors.Is(err,
				sql.ErrNoRows) {
				h.RemoveFiles([]Media{{ID: e.Name()}})
			}
		}
		if err != nil {
			return nil // the next call continues
		}
	}
	return nil
}

// now returns the time in milliseconds, the precision of the database.
func (h *History) now() time.Time { return h.o.Now().Truncate(time.Millisecond) }
