package sqlite

import (
	"context"
	"fmt"

	"nanobot/gateway/store"
)

// SaveDetails replaces the details of an inbound message.
func (s *Store) SaveDetails(ctx context.Context, inbound int64, text string) error {
	return s.change(ctx, fmt.Sprintf("save the details of inbound message %d", inbound), func(t *tx) error {
		return t.exec("INSERT OR REPLACE INTO details (inbound, text) SELECT id, ? FROM inbox WHERE id = ?", store.CutDetails(text), inbound)
	})
}

// LoadDetails returns the details of an inbound message.
func (s *Store) LoadDetails(ctx context.Context, inbound int64) (string, error) {
	var text string
	_, err := s.queryRow(ctx, "SELECT text FROM details WHERE inbound = ?", []any{inbound}, &text)
	return text, wrapError("read the details of inbound message %d", err, inbound)
}
