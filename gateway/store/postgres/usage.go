package postgres

import (
	"context"
	"fmt"
	"time"

	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// usageColumns are the columns with the key of each sum, as text.
var usageColumns = map[store.UsageKey]string{
	store.UsageByUser: "person::text", store.UsageByChat: "chat::text", store.UsageByAgent: "agent::text",
	store.UsageByModel: "model::text", store.UsageByTime: "at::text",
}

// SumUsage sums usage by a key.
func (s usage) SumUsage(ctx context.Context, by store.UsageKey, f store.UsageFilter) ([]store.UsageSum, error) {
	all, err := readAll[store.UsageSum](ctx, s.state, "sum usage", fmt.Sprintf(`SELECT json_build_object('Key', k,
		'Turns', turns, 'Took', took * 1000, 'InputTokens', input, 'OutputTokens', output, 'Cost', cost)
		FROM (SELECT %s COLLATE "C" AS k, sum(turns) AS turns, sum(took) AS took, sum(input_tokens) AS input,
				sum(output_tokens) AS output, sum(cost) AS cost
			FROM usage WHERE at >= $1 AND ($2 = '' OR person = $2) GROUP BY 1) AS sums ORDER BY k`, usageColumns[by]),
		micros(f.Since), f.User)
	return prepared.TimeUsage(by, all), err
}

// pruneUsage merges old usage into days, and deletes what is older.
func (s pruner) pruneUsage(ctx context.Context, zone *time.Location) error {
	for {
		began, n := time.Now(), 0
		at, found, err := readOne[int64](ctx, s.state, "read old usage", `SELECT to_json(at) FROM usage
			WHERE NOT whole AND at <= coalesce($1, database_time()) - $2::bigint ORDER BY at LIMIT 1`, s.time(),
			store.UsageDetail.Microseconds())
		if err == nil && found {
			err = s.change(ctx, changeRequest{what: "merge usage", function: "merge_usage", args: map[string]any{
				"at": at, "day": micros(store.StartOfDay(time.UnixMicro(at), zone)),
			}}, &n)
		}
		if err != nil || !found {
			return err
		}
		if !retry.Sleep(ctx, pruneRest*time.Since(began)) {
			return context.Cause(ctx)
		}
	}
}
