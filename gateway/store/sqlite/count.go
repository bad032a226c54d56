package sqlite

import (
	"context"

	"nanobot/gateway/store"
)

// CountDeliveries counts the deliveries of turns by state.
func (s *Store) CountDeliveries(ctx context.Context, inbounds []int64) (map[int64]map[store.State]int, error) {
	counts := map[int64]map[store.State]int{}
	query := `SELECT inbound, state, count(*) FROM outbox WHERE inbound IN (SELECT value FROM json_each(?)) AND sequence > 0 GROUP BY inbound, state`
	err := s.queryRows(ctx, query, []any{encodeJSON(inbounds)}, func(scan func(...any) error) error {
		var inbound int64
		var state store.State
		var n int
		if err := scan(&inbound, &state, &n); err != nil {
			return err
		}
		if counts[inbound] == nil {
			counts[inbound] = map[store.State]int{}
		}
		counts[inbound][state] = n
		return nil
	})
	return counts, wrapError("count deliveries", err)
}
