package postgres

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Ask stores a question and its outbound message.
func (s questions) Ask(ctx context.Context, q store.Question, outbound store.Outbound) error {
	what := "ask question " + q.ID
	prepared, err := checkAndPrepare(outbound)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	commands := ""
	if len(q.Commands) > 0 {
		commands = encodeJSON(q.Commands)
	}
	var unused []string
	err = s.change(ctx, changeRequest{
		what: what, function: "ask", scope: ofOutbound(q.Chat.String(), outbound.Inbound, outbound.About),
		args: map[string]any{
			"id": q.ID, "inbound": q.Inbound, "chat": q.Chat.String(), "text": q.Text, "options": encodeJSON(q.Options),
			"timeout": q.Timeout.Microseconds(), "approval": q.Approval, "otherText": q.OtherText, "commands": commands,
			"secret": q.Secret, "outbound": prepared, "answers": outbound.Inbound,
		},
	}, &unused)
	s.spool.Remove(unused)
	return err
}

// ofQuestion is the scope of a change of one question.
func ofQuestion(id string) scope { return scope{"question", id} }

// Withdraw closes an open question without an answer.
func (s questions) Withdraw(ctx context.Context, id string) (withdrawn bool, err error) {
	err = s.change(ctx, changeRequest{
		what: "withdraw question " + id, function: "withdraw", scope: ofQuestion(id), args: map[string]any{"id": id},
	}, &withdrawn)
	return withdrawn, err
}

// EraseAnswer removes the answer to a secret question. PostgreSQL cannot remove it from its files
// at once: its vacuum does that.
func (s questions) EraseAnswer(ctx context.Context, id string) error {
	return s.change(ctx, changeRequest{
		what: "erase the answer to question " + id, function: "erase_answer", scope: ofQuestion(id),
		args: map[string]any{"id": id},
	}, nil)
}

// OpenQuestions returns the questions of a chat that wait for an answer.
func (s questions) OpenQuestions(ctx context.Context, chat channels.Chat) ([]store.Question, error) {
	return s.readQuestions(ctx, "read the open questions of "+chat.String(),
		"q.chat = $2 AND q.closed = 0 AND (q.expires = 0 OR q.expires > now)", chat.String())
}

// UnansweredQuestions returns the questions of an inbound message without an answer. An expired
// question that Prune has closed was closed at the time when it expired.
func (s questions) UnansweredQuestions(ctx context.Context, chat channels.Chat, inbound int64) (
	[]store.Question, error,
) {
	return s.readQuestions(ctx, fmt.Sprintf("read the unanswered questions of inbound message %d", inbound),
		`q.chat = $2 AND q.inbound = $3 AND q.answer IS NULL AND q.commands = '' AND (q.closed = 0 OR q.closed = q.expires)`,
		chat.String(), inbound)
}

// Question returns one question.
func (s questions) Question(ctx context.Context, id string) (q store.Question, found bool, err error) {
	all, err := s.readQuestions(ctx, "read question "+id, "q.id = $2", id)
	if len(all) > 0 {
		q = all[0]
	}
	return q, len(all) > 0, err
}

// readQuestions reads the questions that a condition with parameters from $2 on finds, oldest
// first.
func (s questions) readQuestions(ctx context.Context, what, condition string, args ...any) ([]store.Question, error) {
	rows, err := readAll[questionRow](ctx, s.state, what, "SELECT question_json(q, now) FROM question q, "+
		"(SELECT coalesce($1, database_time()) AS now) clock WHERE "+condition+" ORDER BY q.seq",
		append([]any{s.time()}, args...)...)
	return questionsOf(rows), err
}

type questionRow struct {
	store.Question
	Key string // of the chat
}

func questionsOf(rows []questionRow) []store.Question {
	all := make([]store.Question, len(rows))
	for i, r := range rows {
		all[i] = r.Question
		all[i].Chat, _ = channels.ParseChat(r.Key)
	}
	return all
}

// ReadChat returns the open questions and some memories of a chat, and who receives its messages.
func (s questions) ReadChat(ctx context.Context, chat channels.Chat, memories ...string) (store.ChatState, error) {
	type row struct {
		Questions []questionRow
		Memories  map[string]string
		Kept      bool
		Forwarded bool
	}
	read, err := readValue[row](ctx, s.state, "read "+chat.String(), `SELECT json_build_object(
		'questions', (SELECT json_agg(question_json(q, now) ORDER BY q.seq) FROM question q
			WHERE q.chat = $2 AND q.closed = 0 AND (q.expires = 0 OR q.expires > now)),
		'memories', (SELECT json_object_agg(key, value) FROM memory WHERE chat = $2 AND key = ANY ($3)),
		'kept', is_kept($4, $2), 'forwarded', EXISTS (SELECT 1 FROM forward WHERE chat = $2))
		FROM (SELECT coalesce($1, database_time()) AS now) clock`, s.time(), chat.String(), memories, s.member)
	return store.ChatState{
		Questions: questionsOf(read.Questions), Memories: read.Memories, Kept: read.Kept, Forwarded: read.Forwarded,
	}, err
}

// AsksSecret reports whether a message of the bot asks for a secret in a chat or did so.
func (s questions) AsksSecret(ctx context.Context, chat channels.Chat, receipt string) (bool, error) {
	return readValue[bool](ctx, s.state, "look up a secret question of "+chat.String(),
		`SELECT to_json(EXISTS (SELECT 1 FROM question q JOIN outbox o ON o.id = q.delivery
		WHERE q.chat = $1 AND q.secret AND o.receipt = $2))`, chat.String(), receipt)
}
