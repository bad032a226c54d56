package sqlite

import (
	"context"

	"nanobot/gateway/store"
)

// Tally counts what turns put into the outbox, by state.
func (s *Store) Tally(ctx context.Context, items []int64) (map[int64]map[store.State]int, error) {
	counts := map[int64]map[store.State]int{}
	query := `SELECT item, state, count(*) FROM outbox WHERE item IN (SELECT value FROM json_each(?)) AND place > 0 GROUP BY item, state`
	err := s.each(ctx, query, []any{text(items)}, func(scan func(...any) error) error {
		var item int64
		var state store.State
		var n int
		if err := scan(&item, &state, &n); err != nil {
			return err
		}
		if counts[item] == nil {
			counts[item] = map[store.State]int{}
		}
		counts[item][state] = n
		return nil
	})
	return counts, wrap("count parcels", err)
}
