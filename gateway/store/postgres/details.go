package postgres

import (
	"context"
	"fmt"

	"nanobot/gateway/store"
)

// AddTransient records a transient message.
func (s inbox) AddTransient(ctx context.Context, t store.Transient) error {
	return s.changeTransient(ctx, "record a transient message in "+t.Chat.String(), "add_transient", t)
}

// DropTransient removes the record of a transient message.
func (s inbox) DropTransient(ctx context.Context, t store.Transient) error {
	return s.changeTransient(ctx, "remove the record of a transient message in "+t.Chat.String(), "drop_recorded", t)
}

// EndFold removes the record of a board and ends the pending fold of its turn.
func (s inbox) EndFold(ctx context.Context, board store.Transient) error {
	return s.changeTransient(ctx, fmt.Sprintf("end the fold of inbound message %d", board.Inbound), "end_fold", board)
}

func (s inbox) changeTransient(ctx context.Context, what, function string, t store.Transient) error {
	return s.change(ctx, changeRequest{what: what, function: function, scope: ofChat(t.Chat), args: map[string]any{
		"chat": t.Chat.String(), "id": t.ID, "inbound": t.Inbound, "board": t.Board, "incoming": t.Incoming,
	}}, nil)
}

// Transients returns the recorded transient messages.
func (s inbox) Transients(ctx context.Context) ([]store.Transient, error) {
	rows, err := readAll[transientRow](ctx, s.state, "read transient messages",
		"SELECT transient_json(b) FROM transient b ORDER BY inbound, chat, id")
	return transientsOf(rows), err
}

// SaveDetails replaces the details of an inbound message.
func (s inbox) SaveDetails(ctx context.Context, inbound int64, text string) error {
	return s.change(ctx, changeRequest{
		what: fmt.Sprintf("save the details of inbound message %d", inbound), function: "replace_details",
		scope: ofInbound(inbound), args: map[string]any{"id": inbound, "fold": store.Fold{Details: store.CutDetails(text)}},
	}, nil)
}

// LoadDetails returns the details of an inbound message.
func (s inbox) LoadDetails(ctx context.Context, inbound int64) (string, error) {
	return readValue[string](ctx, s.state, fmt.Sprintf("read the details of inbound message %d", inbound),
		"SELECT to_json(text) FROM details WHERE inbound = $1", inbound)
}

// ReplaceFold records that a message replaces the board of a pending fold.
func (s inbox) ReplaceFold(ctx context.Context, inbound int64) error {
	return s.change(ctx, changeRequest{
		what: fmt.Sprintf("replace the board of inbound message %d", inbound), function: "replace_fold",
		scope: ofInbound(inbound), args: idArgs{inbound},
	}, nil)
}
