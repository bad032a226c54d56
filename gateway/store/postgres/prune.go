package postgres

import (
	"context"
	"fmt"
	"time"

	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

const (
	// pruneBatch is the number of rows that one call of prune deletes. After it the pruning pauses
	// for pruneRest times as long as it took, so that turns are not slowed down.
	pruneBatch, pruneRest = 100, 3
	// seenAge is how long the IDs of received messages are stored at least. Networks offer a
	// message again within days.
	seenAge = 90 * 24 * time.Hour
	// incompletePartAge is the age at which the parts of a message that was never completed are
	// deleted. Channels complete messages within minutes.
	incompletePartAge = 30 * 24 * time.Hour
)

// pruning is what one step of pruning deletes.
type pruning struct {
	Table     string  `json:"table"`
	Condition string  `json:"condition"` // on a row t
	Numbers   []int64 `json:"numbers"`   // $2 of the condition
	Chat      string  `json:"chat"`      // the column of the chat
	Set       string  `json:"set,omitempty"`
	Chats     bool    `json:"chats"` // also deletes what is stored of chats that have no messages any more
}

var quotaAge = []int64{store.QuotaAge.Microseconds()}

// Prune deletes rows and files beyond the retention.
func (s pruner) Prune(ctx context.Context, keep store.Retention) error {
	err := s.prune(ctx, pruning{
		Table: "question", Condition: "closed = 0 AND expires > 0 AND expires <= $3", Set: "closed = expires",
	})
	for _, table := range [][3]string{
		{"inbox", "id", "ended"}, {"outbox", "id", "settled"}, {"question", "seq", "closed"},
	} {
		if err == nil {
			err = s.pruneFinished(ctx, table[0], table[1], table[2], keep)
		}
	}
	for _, step := range []pruning{
		{
			Table:     "afresh",
			Condition: "NOT EXISTS (SELECT 1 FROM inbox i WHERE i.chat = t.chat AND i.id <= t.inbound)",
		},
		seenToPrune(keep),
		{Table: "part", Condition: "at < $3 - $2[1]", Numbers: []int64{max(incompletePartAge, keep.Age).Microseconds()}},
		{
			Table: "occurrence", Chat: "''::text", Numbers: []int64{keep.Age.Microseconds()},
			Condition: "due < $3 - $2[1] AND schedule NOT IN (SELECT name FROM schedule)",
		},
		{Table: "quota", Chat: "''::text", Condition: "at < $3 - $2[1]", Numbers: quotaAge},
		{Table: "counted", Chat: "''::text", Condition: "at < $3 - $2[1]", Numbers: quotaAge},
		{Table: "quota_told", Condition: "at < $3 - $2[1]", Numbers: quotaAge},
		{Table: "usage", Condition: "$2[1] > 0 AND at < $3 - $2[1]", Numbers: []int64{keep.Usage.Microseconds()}},
		// Of failed deliveries that could be sent again.
		{Table: "spooled", Chat: "''::text", Condition: "NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = t.delivery)"},
	} {
		if err == nil {
			err = s.prune(ctx, step)
		}
	}
	if err == nil {
		err = s.pruneUsage(ctx, keep.Zone)
	}
	if err != nil {
		return err
	}
	return wrapError("prune the spool", s.spool.RemoveUnused(func(folder string) (bool, error) {
		return readValue[bool](ctx, s.state, "look up a copy",
			"SELECT to_json(EXISTS (SELECT 1 FROM spooled WHERE folder = $1))", folder)
	}))
}

// seenToPrune finds old IDs of messages whose inbound message was deleted. That of a chat's last
// message is kept for keep.Memories, and the function prune deletes the chat's memories and its
// token with it.
func seenToPrune(keep store.Retention) pruning {
	age := max(seenAge, keep.Age)
	step := pruning{
		Table: "seen", Numbers: []int64{age.Microseconds(), max(age, keep.Memories).Microseconds()},
		Condition: "at < $3 - $2[1] AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.id = t.inbound)",
	}
	if step.Chats = keep.Memories > 0; step.Chats {
		step.Condition += ` AND (at < $3 - $2[2]
			OR EXISTS (SELECT 1 FROM seen n WHERE n.chat = t.chat AND (n.at, n.message) > (t.at, t.message)))`
	}
	return step
}

// prune deletes rows in batches.
func (s pruner) prune(ctx context.Context, step pruning) error {
	if step.Chat == "" {
		step.Chat = "chat::text"
	}
	if step.Numbers == nil {
		step.Numbers = []int64{}
	}
	for {
		began, n := time.Now(), 0
		err := s.change(ctx, changeRequest{what: "prune " + step.Table, function: "prune", args: step}, &n)
		if err != nil || n < pruneBatch {
			return err
		}
		if !retry.Sleep(ctx, pruneRest*time.Since(began)) {
			return context.Cause(ctx)
		}
	}
}

// pruneFinished deletes the finished rows of a table beyond the retention: those that ended until
// the newest of them did.
func (s pruner) pruneFinished(ctx context.Context, table, id, ended string, keep store.Retention) error {
	age := int64(-1)
	if keep.Age > 0 {
		age = keep.Age.Microseconds()
	}
	newest, found, err := readOne[[]int64](ctx, s.state, "prune "+table, fmt.Sprintf(`SELECT json_build_array(e, i) FROM (
			(SELECT %[1]s AS e, %[2]s AS i FROM %[3]s WHERE %[1]s > 0 AND $2::bigint >= 0
				AND %[1]s <= coalesce($1, database_time()) - $2 ORDER BY e DESC, i DESC LIMIT 1)
			UNION ALL (SELECT %[1]s AS e, %[2]s AS i FROM %[3]s WHERE %[1]s > 0 AND $3::bigint > 0
				ORDER BY e DESC, i DESC LIMIT 1 OFFSET $3)) AS newest
		ORDER BY e DESC, i DESC LIMIT 1`, ended, id, table), s.time(), age, keep.Count)
	if err != nil || !found {
		return err
	}
	condition := fmt.Sprintf("%[1]s > 0 AND (%[1]s, %[2]s) <= ($2[1], $2[2])", ended, id)
	if table == "outbox" { // when a turn runs again, messages that were sent before are not sent again
		condition += ` AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.id = t.inbound
			AND i.state IN ('pending', 'running', 'interrupted'))`
	}
	return s.prune(ctx, pruning{Table: table, Condition: condition, Numbers: newest})
}
