package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Ask stores a question and its outbound message.
func (s questions) Ask(ctx context.Context, q store.Question, l store.Outbound) error {
	what := "ask question " + q.ID
	prepared, err := s.checkAndPrepare(l)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	now := s.now()
	s.chatsWithQuestions.add(q.Chat.String())
	var expires time.Time
	if q.Within > 0 {
		expires = now.Add(q.Within)
	}
	unused, err := changed(ctx, s.state, what, func(t *tx) []string {
		t.exec(`INSERT INTO question (id, inbound, chat, text, options, asked, expires, approval, other_text, commands, secret)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			q.ID, q.Inbound, q.Chat.String(), q.Text, encodeJSON(q.Options), micros(now), micros(expires), q.Approval, string(q.OtherText), encodeCommands(q.Commands), q.Secret)
		result := enqueueOutbound(t, prepared, false, now)
		if n := len(result.ids); n > 0 {
			t.exec("UPDATE question SET delivery = ? WHERE id = ?", result.ids[n-1], q.ID)
		}
		return result.unusedCopies
	})
	s.spool.removeCopies(unused)
	return err
}

// encodeCommands returns the commands of a picker as JSON; "": there are none.
func encodeCommands(commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	return encodeJSON(commands)
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
	NOT EXISTS (SELECT 1 FROM question newer WHERE newer.chat = q.chat AND newer.seq > q.seq), coalesce(o.state, ''), coalesce(o.receipt, '')
	FROM question q LEFT JOIN outbox o ON o.id = q.delivery `

// OpenQuestions returns the questions of a chat that wait for an answer.
func (s questions) OpenQuestions(ctx context.Context, chat channels.Chat) ([]store.Question, error) {
	key := chat.String()
	if !s.chatsWithQuestions.has(key) {
		return nil, nil
	}
	return readAll(ctx, s.state, "read the open questions of "+key, s.scanQuestion,
		selectQuestions+"WHERE q.chat = ? AND q.closed = 0 AND (q.expires = 0 OR q.expires > ?) ORDER BY q.seq", key, micros(s.now()))
}

// UnansweredQuestions returns the questions of an inbound message without an answer. An expired
// question that Prune has closed was closed at the time when it expired.
func (s questions) UnansweredQuestions(ctx context.Context, chat channels.Chat, inbound int64) ([]store.Question, error) {
	return readAll(ctx, s.state, fmt.Sprintf("read the unanswered questions of inbound message %d", inbound), s.scanQuestion, selectQuestions+`WHERE q.chat = ? AND q.inbound = ? AND q.answer IS NULL AND q.commands = ''
		AND (q.closed = 0 OR q.closed = q.expires) ORDER BY q.seq`, chat.String(), inbound)
}

// Question returns one question.
func (s questions) Question(ctx context.Context, id string) (store.Question, bool, error) {
	return readOne(ctx, s.state, "read question "+id, s.scanQuestion, selectQuestions+"WHERE q.id = ?", id)
}

func (s questions) scanQuestion(scan func(...any) error) (q store.Question, err error) {
	var expires time.Time
	err = scan(&q.ID, &q.Inbound, chatColumn{&q.Chat}, &q.Text, jsonColumn{to: &q.Options}, timeColumn{&expires}, &q.Approval, &q.OtherText,
		jsonColumn{&q.Commands, true}, &q.Secret, &q.Answer, &q.By, &q.Closed, &q.Newest, &q.Outbound, &q.Receipt)
	if !expires.IsZero() {
		left := expires.Sub(s.now())
		q.Within, q.Expired = max(left, 0), left <= 0
	}
	return q, wrapError("question %s", err, q.ID)
}

// closeQuestions closes the open questions of an inbound message, except pickers.
func closeQuestions(t *tx, inbound int64, now time.Time) {
	t.exec("UPDATE question SET closed = ? WHERE inbound = ? AND closed = 0 AND commands = ''", micros(now), inbound)
}
