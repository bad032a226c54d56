package postgres

import (
	"context"
	"strings"
	"time"

	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// Prove accounts for all messages and sends.
func (s questions) Prove(ctx context.Context, request store.ProofRequest) (store.Proof, error) {
	now, err := readValue[int64](ctx, s.state, "read the time", "SELECT to_json(coalesce($1, database_time()))", s.time())
	if err != nil {
		return store.Proof{}, err
	}
	return prepared.ProofSource{
		Now: fromMicros(now),
		Rows: func(query string, before int64, limit int) ([]prepared.ProofRow, error) {
			return readAll[prepared.ProofRow](ctx, s.state, "read what is to be proved",
				strings.ReplaceAll(query, "OBJECT", "json_build_object"), before, limit)
		},
		Refused: func(since time.Time) (int, error) {
			return readValue[int](ctx, s.state, "count refused messages", "SELECT to_json(count(*)) FROM refused WHERE at >= $1",
				micros(since))
		},
	}.Prove(request)
}
