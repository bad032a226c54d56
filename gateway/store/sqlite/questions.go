package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
	"nanobot/internal/dbfile"
)

// Ask stores a question and its outbound message.
func (s questions) Ask(ctx context.Context, q store.Question, outbound store.Outbound) error {
	what := "ask question " + q.ID
	made, err := prepared.NewOutbound(outbound, s.member)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	now := s.now()
	s.chatsWithQuestions.add(q.Chat.String())
	var expires time.Time
	if q.Timeout > 0 {
		expires = now.Add(q.Timeout)
	}
	unused, err := changed(ctx, s.state, what, func(t *tx) []string {
		t.exec(`INSERT INTO question (id, inbound, chat, text, options, asked, expires, approval, other_text, commands, secret)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			q.ID, q.Inbound, q.Chat.String(), q.Text, prepared.JSON(q.Options), micros(now), micros(expires), q.Approval,
			string(q.OtherText), encodeCommands(q.Commands), q.Secret)
		result := enqueueOutbound(t, made, false, now)
		if n := len(result.ids); n > 0 {
			t.exec("UPDATE question SET delivery = ? WHERE id = ?", result.ids[n-1], q.ID)
		}
		return result.unusedCopies
	})
	s.spool.Remove(unused)
	return err
}

// encodeCommands returns the commands of a picker as JSON; "": there are none.
func encodeCommands(commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	return prepared.JSON(commands)
}

// answerQuestion reports whether the question was open.
func answerQuestion(t *tx, r store.Reply, now time.Time) bool {
	return t.execCount(`UPDATE question SET answer = ?1, answered_by = ?2, closed = ?3
		WHERE id = ?4 AND closed = 0 AND (expires = 0 OR expires > ?3)`, r.Text, r.By, micros(now), r.Question) > 0
}

// Withdraw closes an open question without an answer.
func (s questions) Withdraw(ctx context.Context, id string) (bool, error) {
	now := s.now()
	return changed(ctx, s.state, "withdraw question "+id, func(t *tx) bool {
		return t.execCount("UPDATE question SET closed = ? WHERE id = ? AND closed = 0", micros(now), id) > 0
	})
}

const selectQuestions = `SELECT q.id, q.inbound, q.chat, q.text, q.options, q.expires, q.approval, q.other_text, q.commands, q.secret, q.answer, q.answered_by, q.closed > 0,
	NOT EXISTS (SELECT 1 FROM question newer WHERE newer.chat = q.chat AND newer.seq > q.seq),
	coalesce(o.state, ''), coalesce(o.receipt, '')
	FROM question q LEFT JOIN outbox o ON o.id = q.delivery `

// OpenQuestions returns the questions of a chat that wait for an answer.
func (s questions) OpenQuestions(ctx context.Context, chat channels.Chat) ([]store.Question, error) {
	key := chat.String()
	if !s.chatsWithQuestions.has(key) {
		return nil, nil
	}
	return readAll(ctx, s.state, "read the open questions of "+key, s.scanQuestion,
		selectQuestions+"WHERE q.chat = ? AND q.closed = 0 AND (q.expires = 0 OR q.expires > ?) ORDER BY q.seq", key,
		micros(s.now()))
}

// ReadChat returns the open questions and memories of a chat.
func (s questions) ReadChat(ctx context.Context, chat channels.Chat, memories ...string) (
	read store.ChatState, err error,
) {
	if read.Questions, err = s.OpenQuestions(ctx, chat); err != nil {
		return read, err
	}
	read.Memories = map[string]string{}
	for _, key := range memories {
		value, err := outbox(s).Recall(ctx, chat, key)
		if err != nil {
			return read, err
		}
		if value != "" {
			read.Memories[key] = value
		}
	}
	return read, nil
}

// describeChat completes a claimed message by what the store knows of its chat.
func (s *state) describeChat(t *tx, inbound *store.Inbound) {
	chat := inbound.In.Chat.String()
	if s.chatsWithMemories.has(chat) || s.chatsWithQuestions.has(chat) {
		t.queryRow(`SELECT coalesce((SELECT value FROM memory WHERE chat = ?1 AND key = ?2), ''),
			EXISTS (SELECT 1 FROM question WHERE chat = ?1 AND closed = 0)`, []any{chat, store.ConversationMemory},
			&inbound.Conversation, &inbound.Asks)
	}
}

// UnansweredQuestions returns the questions of an inbound message without an answer. An expired
// question that Prune has closed was closed at the time when it expired.
func (s questions) UnansweredQuestions(ctx context.Context, chat channels.Chat, inbound int64) (
	[]store.Question, error,
) {
	return readAll(ctx, s.state, fmt.Sprintf("read the unanswered questions of inbound message %d", inbound),
		s.scanQuestion, selectQuestions+`WHERE q.chat = ? AND q.inbound = ? AND q.answer IS NULL AND q.commands = ''
		AND (q.closed = 0 OR q.closed = q.expires) ORDER BY q.seq`, chat.String(), inbound)
}

// Question returns one question.
func (s questions) Question(ctx context.Context, id string) (store.Question, bool, error) {
	return readOne(ctx, s.state, "read question "+id, s.scanQuestion, selectQuestions+"WHERE q.id = ?", id)
}

func (s questions) scanQuestion(scan func(...any) error) (q store.Question, err error) {
	var expires time.Time
	err = scan(&q.ID, &q.Inbound, chatColumn{&q.Chat}, &q.Text, jsonColumn{to: &q.Options}, timeColumn{&expires},
		&q.Approval, &q.OtherText,
		jsonColumn{&q.Commands, true}, &q.Secret, &q.Answer, &q.By, &q.Closed, &q.Newest, &q.Outbound, &q.Receipt)
	if !expires.IsZero() {
		left := expires.Sub(s.now())
		q.Timeout, q.Expired = max(left, 0), left <= 0
	}
	return q, wrapError("question %s", err, q.ID)
}

// closeQuestions closes the open questions of an inbound message, except pickers.
func closeQuestions(t *tx, inbound int64, now time.Time) {
	t.exec("UPDATE question SET closed = ? WHERE inbound = ? AND closed = 0 AND commands = ''", micros(now), inbound)
}

// EraseAnswer removes the answer to a secret question.
func (s questions) EraseAnswer(ctx context.Context, id string) error {
	return s.change(ctx, "erase the answer to question "+id, func(t *tx) {
		t.erase("UPDATE question SET answer = NULL WHERE id = ? AND secret = 1 AND answer IS NOT NULL", id)
	})
}

// AsksSecret reports whether a message of the bot asks for a secret in a chat or did so.
func (s questions) AsksSecret(ctx context.Context, chat channels.Chat, receipt string) (bool, error) {
	return readValue[bool](ctx, s.state, "look up a secret question of "+chat.String(),
		`SELECT EXISTS (SELECT 1 FROM question q JOIN outbox o ON o.id = q.delivery
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
		t.erase("UPDATE inbox SET incoming = ? WHERE id = ?", prepared.JSON(prepared.WithoutText(inbound.In)), id)
		return recordSecrets(t, inbound, s.member)
	})
}

// dropErasedQuote removes the text that a message quotes if the text of the quoted message was
// erased, but its message could not be deleted from the chat.
func (s inbox) dropErasedQuote(ctx context.Context, in *channels.Incoming) error {
	if in.ReplyTo == nil || in.ReplyTo.ID == "" || in.ReplyTo.Text == "" {
		return nil
	}
	erased, err := readValue[bool](ctx, s.state, fmt.Sprintf("look up the message that %s of %s quotes", in.ID, in.Chat),
		`SELECT EXISTS (SELECT 1 FROM seen JOIN inbox ON inbox.id = seen.inbound WHERE seen.chat = ? AND seen.message = ?
		AND incoming ->> 'text' = '' AND incoming ->> 'media' IS NULL AND incoming ->> 'press' IS NULL)`,
		in.Chat.String(), in.ReplyTo.ID)
	if erased {
		quote := *in.ReplyTo
		quote.Text = ""
		in.ReplyTo = &quote
	}
	return err
}

// recordSecrets records the network's messages of an inbound message as transient.
func recordSecrets(t *tx, inbound store.Inbound, member string) []store.Transient {
	secrets := prepared.Secrets(inbound)
	for _, transient := range secrets {
		addTransient(t, transient, member, time.Time{})
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
