package history

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nanobot/channels/downloads"
	"nanobot/internal/dbfile"
)

// Create makes a file for a message that is yet to come. Nobody knows it until it is in one.
func (h *History) Create() (id string, f *os.File, err error) {
	id = rand.Text()
	f, err = os.OpenFile(filepath.Join(h.files, id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("make file: %w", err)
	}
	return id, f, nil
}

// Discard removes files that came into no message.
func (h *History) Discard(media []Media) {
	for _, m := range media {
		_ = os.Remove(filepath.Join(h.files, m.ID)) // Sweep finds it later
	}
}

// CopyTo copies a file into a folder, under a name that no other file there has, and returns its
// path.
func (h *History) CopyTo(folder *downloads.Folder, id, name string) (path string, err error) {
	from, err := os.Open(filepath.Join(h.files, id))
	if err != nil {
		return "", err
	}
	defer from.Close()
	path, err = folder.Save(strings.ToLower(id[:8])+"-"+name, func(to io.Writer) error {
		_, err := io.Copy(to, from)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("copy file: %w", err)
	}
	return path, nil
}

// Settle sees to it that files which were made are still there after a power cut.
func (h *History) Settle() error {
	if err := dbfile.SyncFolder(h.files); err != nil {
		return fmt.Errorf("keep files: %w", err)
	}
	return nil
}

// Media returns a file that is in a message which somebody may see, and what it is.
func (h *History) Media(ctx context.Context, p Party, id string) (m Media, f *os.File, err error) {
	var owner string
	err = h.read.QueryRowContext(ctx, "SELECT m.id, m.name, m.type, c.owner FROM media m JOIN chats c ON c.id = m.chat WHERE m.id = ?", id).
		Scan(&m.ID, &m.Name, &m.Type, &owner)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && !p.may(owner):
		return m, nil, os.ErrNotExist
	case err != nil:
		return m, nil, fmt.Errorf("read file: %w", err)
	}
	f, err = os.Open(filepath.Join(h.files, m.ID))
	return m, f, err
}

// pruned is how many events are forgotten in one step.
const pruned = 200

// Prune forgets what is older than a time, and the gateway has. Of a chat that has nothing left it
// keeps whose it is: what the agent has in the chat's folder is not for whoever comes next.
func (h *History) Prune(ctx context.Context, before time.Time) error {
	for after := int64(0); ; {
		next, err := h.pruneSome(ctx, before, after)
		if err != nil {
			return err
		}
		if next == 0 {
			break
		}
		after = next
	}
	return h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		_, err := tx.Exec(`UPDATE chats SET updated = 0, title = '' WHERE updated > 0 AND updated < ? AND NOT EXISTS (SELECT 1 FROM events WHERE chat = chats.id AND type = 'message')
			AND NOT EXISTS (SELECT 1 FROM events WHERE chat = chats.id AND taken = 0)`, before.UnixMilli())
		return nil, err
	})
}

// pruneSome looks at some events behind a number, and returns behind which to go on, or 0 when none
// of them is old. A clock that was wrong can hold it up, for as long as it was.
func (h *History) pruneSome(ctx context.Context, before time.Time, after int64) (next int64, err error) {
	const old = " WHERE seq > ? AND seq <= ? AND time < ? AND taken"
	var gone []string
	err = h.writer.submit(ctx, func(tx *sql.Tx) (*Event, error) {
		err := tx.QueryRow("SELECT coalesce(max(seq), 0) FROM (SELECT seq, time FROM events WHERE seq > ? ORDER BY seq LIMIT ?) WHERE time < ?",
			after, pruned, before.UnixMilli()).Scan(&next)
		if err != nil || next == 0 {
			return nil, err
		}
		args := []any{after, next, before.UnixMilli()}
		if gone, err = column[string](tx.Query("DELETE FROM media WHERE seq IN (SELECT seq FROM events"+old+") RETURNING id", args...)); err != nil {
			return nil, err
		}
		_, err = tx.Exec("DELETE FROM events"+old, args...)
		return nil, err
	})
	if err != nil {
		return 0, fmt.Errorf("forget old messages: %w", err)
	}
	for _, id := range gone {
		h.Discard([]Media{{ID: id}})
	}
	return next, nil
}

func column[T any](rows *sql.Rows, err error) ([]T, error) {
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

// unclaimed is how long a file may be without a message: an upload takes its time.
const unclaimed = 6 * time.Hour

// Sweep removes files that are in no message, because we died while they came in.
func (h *History) Sweep(ctx context.Context) error {
	folder, err := os.Open(h.files)
	if err != nil {
		return fmt.Errorf("sweep files: %w", err)
	}
	defer folder.Close()
	for ctx.Err() == nil {
		entries, err := folder.ReadDir(pruned)
		if len(entries) == 0 {
			return nil // that was all of them
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || h.o.Now().Sub(info.ModTime()) < unclaimed {
				continue
			}
			var id string
			if err = h.read.QueryRowContext(ctx, "SELECT id FROM media WHERE id = ?", e.Name()).Scan(&id); errors.Is(err, sql.ErrNoRows) {
				h.Discard([]Media{{ID: e.Name()}})
			}
		}
		if err != nil {
			return nil // the next sweep gets further
		}
	}
	return nil
}

// now is the time to the millisecond, which is what is kept of it.
func (h *History) now() time.Time { return h.o.Now().Truncate(time.Millisecond) }
