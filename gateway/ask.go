package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// askTimeout is how long a question waits for an answer at most. The turn's own timeout is usually shorter.
const askTimeout = time.Hour

// errNoAnswer says that nobody answered in time.
var errNoAnswer = errors.New("timeout")

// ask puts an agent's question to the chat and waits for the answer. A turn that runs again after a crash finds the question it had
// asked, and the answer if one was given meanwhile.
func (t *turn) ask(ctx context.Context, q terminal.Question) (a terminal.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if q.Within <= 0 || q.Within > askTimeout {
		q.Within = askTimeout
	}
	id, earlier, asked, err := t.lookUp(ctx, q)
	if err != nil {
		return terminal.Answer{}, err
	}
	answered := t.g.answers.expect(id)
	defer t.g.answers.forget(id)
	defer func() {
		if err != nil {
			a, err = t.unanswered(id, err)
		}
	}()
	if asked { // before a crash
		q.Within = time.Until(earlier.Expires)
		if earlier, _, err = t.g.o.Store.Question(ctx, id); err != nil {
			return terminal.Answer{}, fmt.Errorf("look up question: %w", err)
		}
		if earlier.Answer != nil {
			return answerTo(earlier), nil
		}
	} else if err := t.putQuestion(ctx, id, q); err != nil {
		return terminal.Answer{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, q.Within, errNoAnswer)
	defer cancel()
	select {
	case a := <-answered:
		return a, nil
	case <-ctx.Done():
		return terminal.Answer{}, context.Cause(ctx)
	}
}

// lookUp finds a question that the item has asked before a crash. What got no answer then is asked anew.
func (t *turn) lookUp(ctx context.Context, q terminal.Question) (id string, earlier store.Question, asked bool, err error) {
	for {
		id = t.questionID(q)
		if earlier, asked, err = t.g.o.Store.Question(ctx, id); err != nil {
			return id, earlier, false, fmt.Errorf("look up question: %w", err)
		}
		if !asked || earlier.Answer != nil || !earlier.Closed && time.Now().Before(earlier.Expires) {
			return id, earlier, asked, nil
		}
	}
}

// answerTo is the answer that a question was given.
func answerTo(q store.Question) terminal.Answer { return terminal.Answer{Text: *q.Answer, By: q.By} }

// questionID is the same for the same question when the item runs again, and short enough for a button. What is asked a second time in one
// run is another question.
func (t *turn) questionID(q terminal.Question) string {
	t.asks.Lock()
	defer t.asks.Unlock()
	if t.asked == nil {
		t.asked = map[[2]string]int{}
	}
	what := [2]string{q.ID, q.Text}
	t.asked[what]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%d\x00%s\x00%s", t.item.ID, t.asked[what], q.ID, q.Text))
	return hex.EncodeToString(sum[:8])
}

// putQuestion sends a question.
func (t *turn) putQuestion(ctx context.Context, id string, q terminal.Question) error {
	var buttons []channels.Button
	for i, option := range q.Options {
		buttons = append(buttons, channels.Button{Label: option, Data: fmt.Sprintf("%s%s:%d", intake.AnswerPress, id, i+1)})
	}
	question := store.Question{ID: id, Item: t.item.ID, Chat: t.item.In.Chat, Text: q.Text, Options: q.Options, Expires: time.Now().Add(q.Within)}
	return t.g.outbox.Ask(ctx, outbox.Question{Question: question, ReplyTo: t.item.In.ID, Buttons: buttons})
}
