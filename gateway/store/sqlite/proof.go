package sqlite

import (
	"context"
	"strings"
	"time"

	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// Prove accounts for all messages and sends.
func (s questions) Prove(ctx context.Context, request store.ProofRequest) (store.Proof, error) {
	return prepared.ProofSource{
		Now: s.now(),
		Rows: func(query string, before int64, limit int) ([]prepared.ProofRow, error) {
			return readAll(ctx, s.state, "read what is to be proved",
				func(scan func(...any) error) (row prepared.ProofRow, err error) {
					return row, scan(jsonColumn{to: &row})
				},
				strings.NewReplacer("OBJECT", "json_object", "$", "?").Replace(query), before, limit)
		},
		Refused: func(since time.Time) (int, error) {
			return readValue[int](ctx, s.state, "count refused messages", "SELECT count(*) FROM refused WHERE at >= ?",
				micros(since))
		},
	}.Prove(request)
}
