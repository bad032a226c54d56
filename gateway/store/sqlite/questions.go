package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Ask stores a question and its outbound message.
func (s *Store) Ask(ctx context.Context, q store.Question, l store.Outbound) error {
	what := "ask question " + q.ID
	prepared, err := s.checkAndPrepare(l)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	now := s.now()
	defer s.chatsWithQuestions.addStoring(q.Chat.String())()
	var expires time.Time
	if q.Within > 0 {
		expires = now.Add(q.Within)
	}
	var result enqueueResult
	err = s.change(ctx, what, func(t *tx) (err error) {
		err = t.exec(`INSERT INTO question (id, inbound, chat, text, options, asked, expires, approval, other_text, commands, secret)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			q.ID, q.Inbound, q.Chat.String(), q.Text, encodeJSON(q.Options), micros(now), micros(expires), q.Approval, string(q.OtherText), encodeCommands(q.Commands), q.Secret)
		if err != nil {
			return err
		}
		if result, err = t.enqueueOutbound(prepared, false, now); err != nil || len(result.ids) == 0 {
			return err
		}
		return t.exec("UPDATE question SET delivery = ? WHERE id = ?", result.ids[len(result.ids)-1], q.ID)
	})
	if err == nil {
		s.spool.removeCopies(result.unusedCopies)
	}
	return err
}

// Answer stores the first answer to a question.
func (s *Store) Answer(ctx context.Context, id, answer, by string) (bool, error) {
	now := s.now()
	var n int
	err := s.change(ctx, "answer question "+id, func(t *tx) (err error) {
		n, err = t.answerQuestion(store.Reply{Question: id, Text: answer, By: by}, now)
		return err
	})
	return n > 0 && err == nil, err
}

// encodeCommands returns the commands of a picker as JSON; "": there are none.
func encodeCommands(commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	return encodeJSON(commands)
}

func (t *tx) answerQuestion(r store.Reply, now time.Time) (int, error) {
	return t.execCount(`UPDATE question SET answer = ?1, answered_by = ?2, closed = ?3
		WHERE id = ?4 AND closed = 0 AND (expires = 0 OR expires > ?3)`, r.Text, r.By, micros(now), r.Question)
}

// Withdraw closes an open question without an answer.
func (s *Store) Withdraw(ctx context.Context, id string) (bool, error) {
	now := s.now()
	var n int
	err := s.change(ctx, "withdraw question "+id, func(t *tx) (err error) {
		n, err = t.execCount("UPDATE question SET closed = ? WHERE id = ? AND closed = 0", micros(now), id)
		return err
	})
	return n > 0 && err == nil, err
}

const selectQuestions = `SELECT q.id, q.inbound, q.chat, q.text, q.options, q.expires, q.approval, q.other_text, q.commands, q.secret, q.answer, q.answered_by, q.closed > 0,
	NOT EXISTS (SELECT 1 FROM question newer WHERE newer.chat = q.chat AND newer.seq > q.seq), coalesce(o.state, ''), coalesce(o.receipt, '')
	FROM question q LEFT JOIN outbox o ON o.id = q.delivery `

// OpenQuestions returns the questions of a chat that wait for an answer.
func (s *Store) OpenQuestions(ctx context.Context, chat channels.Chat) ([]store.Question, error) {
	key := chat.String()
	version, asking := s.chatsWithQuestions.versionOf(key)
	if !asking {
		return nil, nil
	}
	open, err := queryAll(ctx, s, s.scanQuestion, selectQuestions+"WHERE q.chat = ? AND q.closed = 0 AND (q.expires = 0 OR q.expires > ?) ORDER BY q.seq", key, micros(s.now()))
	if err == nil && len(open) == 0 {
		var answered bool
		_, err = s.queryRow(ctx, "SELECT EXISTS (SELECT 1 FROM question WHERE chat = ? AND secret = 1 AND answer IS NOT NULL)", []any{key}, &answered)
		if err == nil && !answered {
			s.chatsWithQuestions.removeIfUnchanged(key, version)
		}
	}
	return open, wrapError("read the open questions of %s", err, chat)
}

// UnansweredQuestions returns the questions of an inbound message without an answer. An expired
// question that Prune has closed was closed at the time when it expired.
func (s *Store) UnansweredQuestions(ctx context.Context, chat channels.Chat, inbound int64) ([]store.Question, error) {
	left, err := queryAll(ctx, s, s.scanQuestion, selectQuestions+`WHERE q.chat = ? AND q.inbound = ? AND q.answer IS NULL AND q.commands = ''
		AND (q.closed = 0 OR q.closed = q.expires) ORDER BY q.seq`, chat.String(), inbound)
	return left, wrapError("read the unanswered questions of inbound message %d", err, inbound)
}

// Question returns one question.
func (s *Store) Question(ctx context.Context, id string) (store.Question, bool, error) {
	q, err := queryAll(ctx, s, s.scanQuestion, selectQuestions+"WHERE q.id = ?", id)
	if err != nil || len(q) == 0 {
		return store.Question{}, false, wrapError("read question %s", err, id)
	}
	return q[0], true, nil
}

func (s *Store) scanQuestion(scan func(...any) error) (store.Question, error) {
	var q store.Question
	var chat string
	var options, commands []byte
	var expires int64
	err := scan(&q.ID, &q.Inbound, &chat, &q.Text, &options, &expires, &q.Approval, &q.OtherText, &commands, &q.Secret, &q.Answer, &q.By, &q.Closed, &q.Newest, &q.Outbound, &q.Receipt)
	if err != nil {
		return store.Question{}, err
	}
	q.Chat = chatOf(chat)
	if expires > 0 {
		left := fromMicros(expires).Sub(s.now())
		q.Within, q.Expired = max(left, 0), left <= 0
	}
	if err := json.Unmarshal(options, &q.Options); err != nil {
		return store.Question{}, fmt.Errorf("question %s: %w", q.ID, err)
	}
	if len(commands) > 0 {
		if err := json.Unmarshal(commands, &q.Commands); err != nil {
			return store.Question{}, fmt.Errorf("commands of question %s: %w", q.ID, err)
		}
	}
	return q, nil
}

// closeQuestions closes the open questions of an inbound message, except pickers.
func (t *tx) closeQuestions(inbound int64, now time.Time) error {
	return t.exec("UPDATE question SET closed = ? WHERE inbound = ? AND closed = 0 AND commands = ''", micros(now), inbound)
}
