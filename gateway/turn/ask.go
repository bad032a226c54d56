package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// askTimeout is how long a question waits for an answer at most. The turn's own timeout is usually
// shorter.
const askTimeout = time.Hour

// errNoAnswer says that nobody answered in time.
var errNoAnswer = errors.New("timeout")

// ask puts an agent's question to the chat and waits for the answer. A turn that runs again after a
// crash finds the question it had asked, and the answer if one was given meanwhile.
func (t *Turn) ask(ctx, killed context.Context, q terminal.Question) (a terminal.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if q.Timeout <= 0 || q.Timeout > askTimeout {
		q.Timeout = askTimeout
	}
	id, earlier, asked, err := t.lookUp(ctx, q)
	if err != nil {
		return terminal.Answer{}, err
	}
	answered := t.stage.answers.expect(id)
	defer t.stage.answers.forget(id)
	defer func() {
		if err != nil {
			a, err = t.unanswered(killed, id, err)
		}
	}()
	if asked { // before a crash
		q.Timeout = earlier.Within
		if earlier, _, err = t.stage.o.Store.Question(ctx, id); err != nil {
			return terminal.Answer{}, fmt.Errorf("look up question: %w", err)
		}
		if earlier.Answer != nil {
			return answerTo(earlier), nil
		}
	} else if err := t.putQuestion(ctx, id, q); err != nil {
		return terminal.Answer{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, q.Timeout, errNoAnswer)
	defer cancel()
	select {
	case a := <-answered:
		return a, nil
	case <-ctx.Done():
		return terminal.Answer{}, context.Cause(ctx)
	}
}

// lookUp finds a question that the inbound message has asked before a crash. What got no answer
// then is asked anew.
func (t *Turn) lookUp(ctx context.Context, q terminal.Question) (id string, earlier store.Question, asked bool, err error) {
	for {
		id = t.questionID(q)
		if earlier, asked, err = t.stage.o.Store.Question(ctx, id); err != nil {
			return id, earlier, false, fmt.Errorf("look up question: %w", err)
		}
		if !asked || earlier.Answer != nil || !earlier.Closed && !earlier.Expired {
			return id, earlier, asked, nil
		}
	}
}

// answerTo is the answer that a question was given.
func answerTo(q store.Question) terminal.Answer { return terminal.Answer{Text: *q.Answer, By: q.By} }

// questionID is the same for the same question when the inbound message runs again, and short
// enough for a button. What is asked a second time in one run is another question.
func (t *Turn) questionID(q terminal.Question) string {
	t.asks.Lock()
	defer t.asks.Unlock()
	if t.asked == nil {
		t.asked = map[[2]string]int{}
	}
	what := [2]string{q.ID, q.Text}
	t.asked[what]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%d\x00%s\x00%s", t.inbound.ID, t.asked[what], q.ID, q.Text))
	return hex.EncodeToString(sum[:8])
}

// putQuestion sends a question.
func (t *Turn) putQuestion(ctx context.Context, id string, q terminal.Question) error {
	question := store.Question{ID: id, Inbound: t.inbound.ID, Chat: t.inbound.In.Chat, Text: q.Text, Options: q.Options, Within: q.Timeout, Approval: q.Approval}
	return t.stage.o.Outbox.Ask(ctx, outbox.Question{Question: question, ReplyTo: t.inbound.In.ID})
}

// noAnswer is how a question ends that nobody answered.
const noAnswer = "no answer"

// unanswered closes a question that waits no more, so that it takes no answer that is meant for
// another. One that was answered at the same moment is answered. When we shut down it stays open,
// for the next run of the inbound message.
func (t *Turn) unanswered(killed context.Context, id string, why error) (terminal.Answer, error) {
	if killed.Err() != nil {
		return terminal.Answer{}, why
	}
	ctx := context.WithoutCancel(killed)
	withdrawn, err := t.stage.o.Store.Withdraw(ctx, id)
	var q store.Question
	if err == nil {
		q, _, err = t.stage.o.Store.Question(ctx, id)
	}
	switch {
	case err != nil: // it is closed with the turn
		t.log.Warn("question not closed", zap.Error(err))
	case q.Answer != nil:
		return answerTo(q), nil
	case withdrawn:
		t.stage.o.Outbox.ShowEnd(q, noAnswer)
	}
	return terminal.Answer{}, why
}
