package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// SaveDetails replaces the details of an inbound message.
func (s outbox) SaveDetails(ctx context.Context, inbound int64, text string) error {
	return s.change(ctx, fmt.Sprintf("save the details of inbound message %d", inbound), func(t *tx) {
		t.exec("INSERT OR REPLACE INTO details (inbound, text) SELECT id, ? FROM inbox WHERE id = ?", store.CutDetails(text), inbound)
	})
}

// LoadDetails returns the details of an inbound message.
func (s outbox) LoadDetails(ctx context.Context, inbound int64) (string, error) {
	return readValue[string](ctx, s.state, fmt.Sprintf("read the details of inbound message %d", inbound), "SELECT text FROM details WHERE inbound = ?", inbound)
}

// ReplaceFold records that a message replaces the board of a pending fold.
func (s outbox) ReplaceFold(ctx context.Context, inbound int64) error {
	return s.change(ctx, fmt.Sprintf("replace the board of inbound message %d", inbound), func(t *tx) {
		t.exec("UPDATE details SET fold = ? WHERE inbound = ? AND fold > 0", foldReplaced, inbound)
	})
}

// EndFold removes the record of a board and ends the pending fold of its turn.
func (s outbox) EndFold(ctx context.Context, board store.Transient) error {
	return s.change(ctx, fmt.Sprintf("end the fold of inbound message %d", board.Inbound), func(t *tx) {
		dropTransient(t, board.Chat.String(), board.ID)
		t.exec("UPDATE details SET fold = 0 WHERE inbound = ? AND fold > 0", board.Inbound)
	})
}

// The values of the column fold of a pending fold.
const foldPending, foldReplaced = 1, 2

// saveFold stores the pending fold of a turn that ends.
func saveFold(t *tx, inbound int64, member string, f store.Fold) {
	t.exec("INSERT OR REPLACE INTO details (inbound, text, summary, required, fold, owner) VALUES (?, ?, ?, ?, ?, ?)",
		inbound, store.CutDetails(f.Details), f.Summary, f.Required, foldPending, member)
}

// adoptFolds takes over the pending folds of other members.
func adoptFolds(t *tx, member string) []store.PendingFold {
	folds := queryAllTx(t, scanFold, `SELECT d.inbound, i.chat, i.incoming, d.summary, d.text, d.required, d.fold, coalesce(
			(SELECT b.id FROM transient b WHERE b.inbound = d.inbound AND b.chat = i.chat AND b.board > 0 ORDER BY b.board DESC LIMIT 1), '')
		FROM details d JOIN inbox i ON i.id = d.inbound WHERE d.fold > 0 AND d.owner <> ? ORDER BY d.inbound`, member)
	t.exec("UPDATE details SET owner = ?1 WHERE fold > 0 AND owner <> ?1", member)
	return folds
}

func scanFold(scan func(...any) error) (store.PendingFold, error) {
	f := store.PendingFold{Board: store.Transient{Board: true}}
	var fold int
	var incoming []byte
	err := scan(&f.Board.Inbound, chatColumn{&f.Board.Chat}, &incoming, &f.Summary, &f.Details, &f.Required, &fold, &f.Board.ID)
	var in channels.Incoming
	_ = json.Unmarshal(incoming, &in) // if it is unreadable, the fold answers no message
	f.MessageID, f.Language, f.Replaced = in.ID, in.User.Language, fold == foldReplaced
	return f, err
}
