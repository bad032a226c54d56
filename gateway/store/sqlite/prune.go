package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

const (
	// pruneBatch is the number of rows that one transaction deletes, and vacuumBatch the number of
	// pages that one frees, so that other writes do not wait long. After each of them the pruning
	// pauses for pruneRest times as long as it took.
	pruneBatch, vacuumBatch, pruneRest = 100, 64, 3
	// maxFreePages is how many unused pages the file keeps for new rows.
	maxFreePages = 256
	// seenAge is how long the IDs of received messages are stored at least. Networks offer a
	// message again within days.
	seenAge = 90 * 24 * time.Hour
)

// prunableTable names the columns that identify and order the finished rows of a table.
type prunableTable struct {
	table, id, ended string
	keepCondition    string // an SQL condition of rows that must be kept
}

var prunableTables = []prunableTable{
	{table: "inbox", id: "id", ended: "ended"},
	// When a turn runs again, messages that were sent before are not sent again.
	{
		table: "outbox", id: "id", ended: "settled",
		keepCondition: `EXISTS (SELECT 1 FROM inbox WHERE inbox.id = outbox.inbound
		AND inbox.state IN ('pending', 'running', 'interrupted'))`,
	},
	{table: "question", id: "seq", ended: "closed"},
}

// Prune deletes rows and files beyond the retention.
func (s pruner) Prune(ctx context.Context, keep store.Retention) error {
	now := s.now()
	if err := s.closeExpiredQuestions(ctx, now); err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	for _, f := range prunableTables {
		if err := s.pruneTable(ctx, f, keep, now); err != nil {
			return fmt.Errorf("prune %s: %w", f.table, err)
		}
	}
	if err := s.pruneConversationStarts(ctx); err != nil {
		return fmt.Errorf("prune conversation starts: %w", err)
	}
	if err := s.pruneSeen(ctx, now, keep); err != nil {
		return fmt.Errorf("prune the IDs of received messages: %w", err)
	}
	if err := s.pruneParts(ctx, now.Add(-max(incompletePartAge, keep.Age))); err != nil {
		return fmt.Errorf("prune parts: %w", err)
	}
	if err := s.change(ctx, "forget copies, counts and the occurrences of removed schedules", func(t *tx) {
		pruneQuotas(t, now)
		t.exec("DELETE FROM occurrence WHERE due < ? AND schedule NOT IN (SELECT name FROM schedule)",
			micros(now.Add(-keep.Age)))
		t.exec("DELETE FROM spooled WHERE delivery NOT IN (SELECT id FROM outbox)") // of failed ones that could be resent
	}); err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	if err := s.pruneUsage(ctx, keep, now); err != nil {
		return fmt.Errorf("prune usage: %w", err)
	}
	if err := s.pruneSpool(ctx); err != nil {
		return fmt.Errorf("prune the spool: %w", err)
	}
	if err := s.shrinkFile(ctx); err != nil {
		return fmt.Errorf("shrink the database: %w", err)
	}
	return nil
}

// inBatches repeats a write, which returns how much it has done, until that is less than a batch.
// It pauses in between, so that turns are not slowed down.
func (s pruner) inBatches(ctx context.Context, batch int, write func(t *tx) int) error {
	for {
		began := time.Now()
		n, err := changed(ctx, s.state, "prune", write)
		if err != nil || n < batch {
			return err
		}
		if !retry.Sleep(ctx, pruneRest*time.Since(began)) {
			return context.Cause(ctx)
		}
	}
}

// shrinkFile gives the space of deleted rows back to the file system.
func (s pruner) shrinkFile(ctx context.Context) error {
	free, err := readValue[int](ctx, s.state, "count free pages", "PRAGMA freelist_count")
	if err != nil {
		return err
	}
	return s.inBatches(ctx, vacuumBatch, func(t *tx) int {
		n := min(free-maxFreePages, vacuumBatch)
		if n <= 0 {
			return 0
		}
		t.exec(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", n))
		free -= n
		return n
	})
}

// closeExpiredQuestions closes the questions that were not answered in time.
func (s pruner) closeExpiredQuestions(ctx context.Context, now time.Time) error {
	return s.change(ctx, "close expired questions", func(t *tx) {
		t.exec("UPDATE question SET closed = expires WHERE closed = 0 AND expires > 0 AND expires <= ?", micros(now))
	})
}

// pruneTable deletes the finished rows of a table beyond the retention, in batches.
func (s pruner) pruneTable(ctx context.Context, f prunableTable, keep store.Retention, now time.Time) error {
	ended, id, err := s.newestToPrune(ctx, f, keep, now)
	if err != nil || ended == 0 {
		return err
	}
	keepCondition := f.keepCondition
	if keepCondition == "" {
		keepCondition = "FALSE"
	}
	query := fmt.Sprintf(`DELETE FROM %[1]s WHERE %[2]s IN (SELECT %[2]s FROM %[1]s
		WHERE %[3]s > 0 AND (%[3]s, %[2]s) <= (?, ?) AND NOT %[4]s ORDER BY %[3]s, %[2]s LIMIT ?)`, f.table, f.id, f.ended,
		keepCondition)
	return s.inBatches(ctx, pruneBatch, func(t *tx) int { return t.execCount(query, ended, id, pruneBatch) })
}

// newestToPrune returns the end and the ID of the newest row that is beyond the retention.
func (s pruner) newestToPrune(ctx context.Context, f prunableTable, keep store.Retention, now time.Time) (
	ended, id int64, err error,
) {
	newest := func(which, skip string, args ...any) error {
		var e, i int64
		query := fmt.Sprintf("SELECT %[2]s, %[3]s FROM %[1]s WHERE %[2]s > 0 %[4]s ORDER BY %[2]s DESC, %[3]s DESC LIMIT 1 "+
			"%[5]s",
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

// pruneConversationStarts deletes the start of a chat's conversation when no older inbound message
// is left.
func (s pruner) pruneConversationStarts(ctx context.Context) error {
	return s.deleteInBatches(ctx,
		`SELECT chat FROM afresh WHERE ? = 0 AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.chat = afresh.chat AND id <= afresh.inbound)
		LIMIT ?`, 0, "DELETE FROM afresh WHERE chat = ?")
}

// pruneSeen deletes old IDs of messages whose inbound message was deleted. That of a chat's last
// message is kept for keep.Memories, and takes the chat's memories and its token with it.
func (s pruner) pruneSeen(ctx context.Context, now time.Time, keep store.Retention) error {
	age := max(seenAge, keep.Age)
	remove := []string{"DELETE FROM seen WHERE chat = ?1 ->> 0 AND message = ?1 ->> 1"}
	last := "" // a condition of IDs of last messages; the others are deleted anyway
	if keep.Memories > 0 {
		last = fmt.Sprintf(` AND (at < %d
			OR EXISTS (SELECT 1 FROM seen n WHERE n.chat = s.chat AND (n.at, n.message) > (s.at, s.message)))`,
			micros(now.Add(-max(age, keep.Memories))))
		for _, table := range []string{"memory", "token"} {
			remove = append(remove, "DELETE FROM "+table+` WHERE chat = ?1 ->> 0
				AND NOT EXISTS (SELECT 1 FROM seen WHERE chat = ?1 ->> 0) AND NOT EXISTS (SELECT 1 FROM inbox WHERE chat = ?1 ->> 0)`)
		}
	}
	return s.deleteInBatches(ctx, `SELECT json_array(chat, message) FROM seen s WHERE at < ?
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE id = s.inbound)`+last+" LIMIT ?", micros(now.Add(-age)), remove...)
}

// deleteInBatches deletes the rows whose keys a query finds, until it finds none. The query runs
// outside the writer, because it may take long.
func (s pruner) deleteInBatches(ctx context.Context, find string, limit int64, remove ...string) error {
	for {
		keys, err := readAll(ctx, s.state, "find rows", column[any], find, limit, 100*pruneBatch)
		if err != nil || len(keys) == 0 {
			return err
		}
		err = s.inBatches(ctx, pruneBatch, func(t *tx) int {
			n := min(len(keys), pruneBatch)
			for _, k := range keys[:n] {
				for _, statement := range remove {
					t.exec(statement, k)
				}
			}
			keys = keys[n:]
			return n
		})
		if err != nil {
			return err
		}
	}
}

// pruneSpool deletes the copies that no delivery needs.
func (s pruner) pruneSpool(ctx context.Context) error {
	return s.spool.RemoveUnused(func(folder string) (bool, error) {
		return readValue[bool](ctx, s.state, "look up a copy",
			"SELECT EXISTS (SELECT 1 FROM spooled WHERE folder = ?)", folder)
	})
}
