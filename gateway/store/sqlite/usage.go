package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// usage implements store.Usage.
type usage struct{ *state }

// usageColumns are the columns with the key of each sum, as text.
var usageColumns = map[store.UsageKey]string{
	store.UsageByUser: "person", store.UsageByChat: "chat", store.UsageByAgent: "agent", store.UsageByModel: "model",
	store.UsageByTime: "CAST(at AS TEXT)",
}

// addedUsage adds a row to the one with the same key.
const addedUsage = ` ON CONFLICT DO UPDATE SET turns = turns + excluded.turns, took = took + excluded.took,
	input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens,
	cost = cost + excluded.cost`

// addUsage adds the usage of an ended turn to the ledger.
func addUsage(t *tx, inbound int64, u store.TurnUsage, now time.Time) {
	t.exec(`INSERT INTO usage (at, person, chat, agent, model, whole, turns, took, input_tokens, output_tokens, cost)
		SELECT ?1, CASE WHEN origin = 'person' AND incoming ->> '$.user.id' <> ''
			THEN substr(chat, 1, instr(chat, ':')) || (incoming ->> '$.user.id') ELSE '' END, chat, agent,
			u.value ->> 'model', 0, u.value ->> 'turns', u.value ->> 'took', u.value ->> 'input', u.value ->> 'output',
			u.value ->> 'cost' FROM inbox, json_each(?2) u WHERE inbox.id = ?3`+addedUsage,
		micros(now.Truncate(store.UsageStep)), prepared.JSON(prepared.NewUsage(&u)), inbound)
}

// SumUsage sums usage by a key.
func (s usage) SumUsage(ctx context.Context, by store.UsageKey, f store.UsageFilter) ([]store.UsageSum, error) {
	scan := func(scan func(...any) error) (sum store.UsageSum, err error) {
		var took int64
		err = scan(&sum.Key, &sum.Turns, &took, &sum.InputTokens, &sum.OutputTokens, &sum.Cost)
		sum.Took = time.Duration(took) * time.Microsecond
		return sum, err
	}
	all, err := readAll(ctx, s.state, "sum usage", scan, fmt.Sprintf(`SELECT %s, sum(turns), sum(took), sum(input_tokens),
		sum(output_tokens), sum(cost) FROM usage WHERE at >= ?1 AND (?2 = '' OR person = ?2) GROUP BY 1 ORDER BY 1`,
		usageColumns[by]), micros(f.Since), f.User)
	return prepared.TimeUsage(by, all), err
}

// pruneUsage merges old usage into days, and deletes what is older.
func (s pruner) pruneUsage(ctx context.Context, keep store.Retention, now time.Time) error {
	err := s.inBatches(ctx, 1, func(t *tx) int {
		var at int64
		if !t.queryRow("SELECT at FROM usage WHERE whole = 0 AND at <= ? ORDER BY at LIMIT 1",
			[]any{micros(now.Add(-store.UsageDetail))}, &at) {
			return 0
		}
		t.exec(`INSERT INTO usage (at, person, chat, agent, model, whole, turns, took, input_tokens, output_tokens, cost)
			SELECT ?1, person, chat, agent, model, 1, turns, took, input_tokens, output_tokens, cost FROM usage
			WHERE whole = 0 AND at = ?2`+addedUsage, micros(store.StartOfDay(fromMicros(at), keep.Zone)), at)
		return t.execCount("DELETE FROM usage WHERE whole = 0 AND at = ?", at)
	})
	if err != nil || keep.Usage == 0 {
		return err
	}
	return s.inBatches(ctx, 1, func(t *tx) int {
		return t.execCount("DELETE FROM usage WHERE at = (SELECT min(at) FROM usage) AND at < ?",
			micros(now.Add(-keep.Usage)))
	})
}
