package sqlite

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/dbfile"
)

// EraseAnswer removes the answer to a secret question.
func (s *Store) EraseAnswer(ctx context.Context, id string) error {
	return s.change(ctx, "erase the answer to question "+id, func(t *tx) error {
		return t.erase("UPDATE question SET answer = NULL WHERE id = ? AND secret = 1 AND answer IS NOT NULL", id)
	})
}

// AsksSecret reports whether a message of the bot asks for a secret in a chat or did so.
func (s *Store) AsksSecret(ctx context.Context, chat channels.Chat, receipt string) (found bool, err error) {
	_, err = s.queryRow(ctx, `SELECT EXISTS (SELECT 1 FROM question q JOIN outbox o ON o.id = q.delivery
		WHERE q.chat = ? AND q.secret = 1 AND o.receipt = ?)`, []any{chat.String(), receipt}, &found)
	return found, wrapError("look up a secret question of %s", err, chat)
}

// eraseAnswers removes the answers to the secret questions of inbound messages that have ended. It
// is called wherever one ends. The index has only the few answers that are not erased.
func (t *tx) eraseAnswers() error {
	return t.erase(`UPDATE question INDEXED BY question_secret SET answer = NULL WHERE secret = 1 AND answer IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.id = question.inbound AND inbox.ended = 0)`)
}

// erase executes a statement that removes secrets. If it has removed any, the writer also removes
// them from the log.
func (t *tx) erase(query string, args ...any) error {
	n, err := t.execCount(query, args...)
	t.erased = t.erased || n > 0
	return err
}

// EraseText removes the text of an inbound message.
func (s *Store) EraseText(ctx context.Context, id int64) (secrets []store.Transient, err error) {
	err = s.change(ctx, fmt.Sprintf("erase the text of inbound message %d", id), func(t *tx) error {
		inbound, found, err := t.queryInbound("SELECT "+inboundColumns+" FROM inbox WHERE id = ?", id)
		if err == nil && !found {
			err = errNoInbound
		}
		if err != nil {
			return err
		}
		if err := t.erase("UPDATE inbox SET incoming = ? WHERE id = ?", encodeJSON(withoutText(inbound.In)), id); err != nil {
			return err
		}
		secrets, err = t.recordSecrets(inbound)
		return err
	})
	if err != nil {
		return nil, err
	}
	return secrets, nil
}

// dropErasedQuote removes the text that a message quotes if the text of the quoted message was
// erased, but its message could not be deleted from the chat.
func (s *Store) dropErasedQuote(ctx context.Context, in *channels.Incoming) error {
	if in.ReplyTo == nil || in.ReplyTo.ID == "" || in.ReplyTo.Text == "" {
		return nil
	}
	var erased bool
	_, err := s.queryRow(ctx, `SELECT EXISTS (SELECT 1 FROM seen JOIN inbox ON inbox.id = seen.inbound WHERE seen.chat = ? AND seen.message = ?
		AND incoming ->> 'text' = '' AND incoming ->> 'media' IS NULL AND incoming ->> 'press' IS NULL)`,
		[]any{in.Chat.String(), in.ReplyTo.ID}, &erased)
	if err != nil {
		return wrapError("look up the message that %s of %s quotes", err, in.ID, in.Chat)
	}
	if erased {
		quote := *in.ReplyTo
		quote.Text = ""
		in.ReplyTo = &quote
	}
	return nil
}

// withoutText returns a message that has no text.
func withoutText(in channels.Incoming) channels.Incoming {
	in.Text, in.Pieces = "", nil
	return in
}

// recordSecrets records the network's messages of an inbound message as transient.
func (t *tx) recordSecrets(inbound store.Inbound) (secrets []store.Transient, err error) {
	pieces := inbound.In.Pieces
	if len(pieces) == 0 {
		pieces = []channels.Piece{{ID: inbound.In.ID}}
	}
	for _, piece := range pieces {
		transient := store.Transient{Chat: inbound.In.Chat, ID: piece.ID, Inbound: inbound.ID, Incoming: true}
		if piece.ID == "" || inbound.In.Press != "" { // nobody has written it
			continue
		}
		if err := t.addTransient(transient, 0); err != nil {
			return nil, err
		}
		secrets = append(secrets, transient)
	}
	return secrets, nil
}

// truncateLog removes what was erased from the write-ahead log. While somebody reads the database,
// it is tried again after the next commit. It is called outside a transaction.
func (w *writer) truncateLog() {
	if w.tx.erased {
		w.logBusy = !dbfile.TruncateLog(w.tx.conn, w.logBusy)
		w.tx.erased = w.logBusy
	}
}
