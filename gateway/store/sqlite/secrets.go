package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/dbfile"
)

// EraseAnswer removes the answer to a secret question.
func (s questions) EraseAnswer(ctx context.Context, id string) error {
	return s.change(ctx, "erase the answer to question "+id, func(t *tx) {
		t.erase("UPDATE question SET answer = NULL WHERE id = ? AND secret = 1 AND answer IS NOT NULL", id)
	})
}

// AsksSecret reports whether a message of the bot asks for a secret in a chat or did so.
func (s questions) AsksSecret(ctx context.Context, chat channels.Chat, receipt string) (bool, error) {
	return readValue[bool](ctx, s.state, "look up a secret question of "+chat.String(), `SELECT EXISTS (SELECT 1 FROM question q JOIN outbox o ON o.id = q.delivery
		WHERE q.chat = ? AND q.secret = 1 AND o.receipt = ?)`, chat.String(), receipt)
}

// eraseAnswers removes the answers to the secret questions of inbound messages that have ended. It
// is called wherever one ends. The index has only the few answers that are not erased.
func eraseAnswers(t *tx) {
	t.erase(`UPDATE question INDEXED BY question_secret SET answer = NULL WHERE secret = 1 AND answer IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.id = question.inbound AND inbox.ended = 0)`)
}

// erase executes a statement that removes secrets. If it has removed any, the writer also removes
// them from the log.
func (t *tx) erase(query string, args ...any) {
	n := t.execCount(query, args...)
	t.erased = t.erased || n > 0
}

// EraseText removes the text of an inbound message.
func (s inbox) EraseText(ctx context.Context, id int64) ([]store.Transient, error) {
	return changed(ctx, s.state, fmt.Sprintf("erase the text of inbound message %d", id), func(t *tx) []store.Transient {
		inbound, found, unreadable := queryInbound(t, selectInbound+"id = ?", id)
		if t.fail(unreadable); !found {
			t.fail(errNoInbound)
		}
		t.erase("UPDATE inbox SET incoming = ? WHERE id = ?", encodeJSON(withoutText(inbound.In)), id)
		return recordSecrets(t, inbound)
	})
}

// dropErasedQuote removes the text that a message quotes if the text of the quoted message was
// erased, but its message could not be deleted from the chat.
func (s inbox) dropErasedQuote(ctx context.Context, in *channels.Incoming) error {
	if in.ReplyTo == nil || in.ReplyTo.ID == "" || in.ReplyTo.Text == "" {
		return nil
	}
	erased, err := readValue[bool](ctx, s.state, fmt.Sprintf("look up the message that %s of %s quotes", in.ID, in.Chat), `SELECT EXISTS (SELECT 1 FROM seen JOIN inbox ON inbox.id = seen.inbound WHERE seen.chat = ? AND seen.message = ?
		AND incoming ->> 'text' = '' AND incoming ->> 'media' IS NULL AND incoming ->> 'press' IS NULL)`,
		in.Chat.String(), in.ReplyTo.ID)
	if erased {
		quote := *in.ReplyTo
		quote.Text = ""
		in.ReplyTo = &quote
	}
	return err
}

// withoutText returns a message that has no text.
func withoutText(in channels.Incoming) channels.Incoming {
	in.Text, in.Pieces = "", nil
	return in
}

// recordSecrets records the network's messages of an inbound message as transient.
func recordSecrets(t *tx, inbound store.Inbound) (secrets []store.Transient) {
	pieces := inbound.In.Pieces
	if len(pieces) == 0 {
		pieces = []channels.Piece{{ID: inbound.In.ID}}
	}
	for _, piece := range pieces {
		transient := store.Transient{Chat: inbound.In.Chat, ID: piece.ID, Inbound: inbound.ID, Incoming: true}
		if piece.ID == "" || inbound.In.Press != "" { // nobody has written it
			continue
		}
		addTransient(t, transient, time.Time{})
		secrets = append(secrets, transient)
	}
	return secrets
}

// truncateLog removes what was erased from the write-ahead log. While somebody reads the database,
// it is tried again after the next commit. It is called outside a transaction.
func (w *writer) truncateLog() {
	if w.tx.erased {
		w.logBusy = !dbfile.TruncateLog(w.tx.conn.driver, w.logBusy)
		w.tx.erased = w.logBusy
	}
}
