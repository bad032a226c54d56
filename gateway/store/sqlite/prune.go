package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"nanobot/gateway/store"
)

const (
	// pruned is how many rows go in one step, so that nobody waits long behind it.
	pruned = 500
	// remembered is how long a received message stays known at least. Networks offer a message
	// again within days.
	remembered = 90 * 24 * time.Hour
	// orphaned is the age at which a copy that no delivery refers to is taken for left over by a
	// turn that died.
	orphaned = time.Hour
)

// finished describes how the ended rows of a table are told and found, oldest first.
type finished struct {
	table, id, ended string
	keep             string // a condition for rows that must stay
}

var prunable = []finished{
	{table: "inbox", id: "id", ended: "ended"},
	// A rerun must know what was sent before.
	{table: "outbox", id: "id", ended: "settled", keep: `EXISTS (SELECT 1 FROM inbox WHERE inbox.id = outbox.inbound
		AND inbox.state IN ('pending', 'running', 'interrupted'))`},
	{table: "question", id: "seq", ended: "closed"},
}

// Prune removes what is beyond the retention.
func (s *Store) Prune(ctx context.Context, keep store.Retention) error {
	now := s.now()
	if err := s.expire(ctx, now); err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	for _, f := range prunable {
		if err := s.pruneTable(ctx, f, keep, now); err != nil {
			return fmt.Errorf("prune %s: %w", f.table, err)
		}
	}
	if err := s.forgetAfresh(ctx); err != nil {
		return fmt.Errorf("prune fresh starts: %w", err)
	}
	if err := s.forgetSeen(ctx, now.Add(-max(remembered, keep.Age))); err != nil {
		return fmt.Errorf("prune what was seen: %w", err)
	}
	if err := s.pruneParts(ctx, now.Add(-max(abandoned, keep.Age))); err != nil {
		return fmt.Errorf("prune parts: %w", err)
	}
	if err := s.pruneSpool(ctx, now.Add(-orphaned)); err != nil {
		return fmt.Errorf("prune the spool: %w", err)
	}
	return nil
}

// expire closes questions that nobody answered in time.
func (s *Store) expire(ctx context.Context, now time.Time) error {
	return s.change(ctx, "close expired questions", func(t *tx) error {
		return t.exec("UPDATE question SET closed = expires WHERE closed = 0 AND expires > 0 AND expires <= ?", micros(now))
	})
}

// pruneTable deletes up to the newest row that is too old or too many, a step at a time.
func (s *Store) pruneTable(ctx context.Context, f finished, keep store.Retention, now time.Time) error {
	ended, id, err := s.limit(ctx, f, keep, now)
	if err != nil || ended == 0 {
		return err
	}
	stay := f.keep
	if stay == "" {
		stay = "FALSE"
	}
	query := fmt.Sprintf(`DELETE FROM %[1]s WHERE %[2]s IN (SELECT %[2]s FROM %[1]s
		WHERE %[3]s > 0 AND (%[3]s, %[2]s) <= (?, ?) AND NOT %[4]s ORDER BY %[3]s, %[2]s LIMIT ?)`, f.table, f.id, f.ended, stay)
	for {
		var n int
		err := s.change(ctx, "delete rows", func(t *tx) (err error) {
			n, err = t.changed(query, ended, id, pruned)
			return err
		})
		if err != nil || n < pruned {
			return err
		}
	}
}

// limit returns the end and the id of the newest row to go.
func (s *Store) limit(ctx context.Context, f finished, keep store.Retention, now time.Time) (ended, id int64, err error) {
	newest := func(which, skip string, args ...any) error {
		var e, i int64
		query := fmt.Sprintf("SELECT %[2]s, %[3]s FROM %[1]s WHERE %[2]s > 0 %[4]s ORDER BY %[2]s DESC, %[3]s DESC LIMIT 1 %[5]s",
			f.table, f.ended, f.id, which, skip)
		if _, err := s.queryRow(ctx, query, args, &e, &i); err != nil {
			return err
		}
		if e > ended || e == ended && i > id {
			ended, id = e, i
		}
		return nil
	}
	if keep.Age > 0 {
		err = newest("AND "+f.ended+" <= ?", "", micros(now.Add(-keep.Age)))
	}
	if keep.Count > 0 && err == nil {
		err = newest("", "OFFSET ?", keep.Count)
	}
	return ended, id, err
}

// forgetAfresh deletes marks of chats of which nothing older is left.
func (s *Store) forgetAfresh(ctx context.Context) error {
	return s.sweep(ctx, `SELECT chat FROM afresh WHERE ? = 0 AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.chat = afresh.chat AND id <= afresh.inbound)
		LIMIT ?`, "DELETE FROM afresh WHERE chat = ?", 0)
}

// forgetSeen deletes what was received long ago.
func (s *Store) forgetSeen(ctx context.Context, before time.Time) error {
	return s.sweep(ctx, `SELECT json_array(chat, message) FROM seen WHERE at < ? AND NOT EXISTS (SELECT 1 FROM inbox WHERE id = seen.inbound)
		LIMIT ?`, "DELETE FROM seen WHERE chat = ?1 ->> 0 AND message = ?1 ->> 1", micros(before))
}

// sweep deletes what a query finds up to a limit. It looks outside the writer, since it may have to
// look far.
func (s *Store) sweep(ctx context.Context, find, remove string, limit int64) error {
	for {
		keys, err := queryAll(ctx, s, func(scan func(...any) error) (key any, err error) { return key, scan(&key) }, find, limit, pruned)
		if err != nil || len(keys) == 0 {
			return err
		}
		err = s.change(ctx, "delete rows", func(t *tx) error {
			for _, k := range keys {
				if err := t.exec(remove, k); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// pruneSpool deletes copies that were made before a time and that no delivery needs.
func (s *Store) pruneSpool(ctx context.Context, before time.Time) error {
	d, err := os.Open(s.spool.dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	for {
		entries, err := d.ReadDir(pruned)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.ModTime().Before(before) {
				continue // gone meanwhile, or young
			}
			var one int
			needed, err := s.queryRow(ctx, "SELECT 1 FROM spooled WHERE folder = ? LIMIT 1", []any{e.Name()}, &one)
			if err != nil {
				return err
			}
			if !needed {
				s.spool.remove([]string{e.Name()})
			}
		}
	}
}
