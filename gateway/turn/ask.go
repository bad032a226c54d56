package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// askTimeout is the longest time that a question waits for an answer. The turn's own timeout is
// usually shorter.
const askTimeout = time.Hour

// reply is the answer to a question, or the reason why there is none.
type reply struct {
	answer terminal.Answer
	err    error
}

// askChat posts an agent's question to the chat and waits for the answer. A turn that is retried
// after a crash finds its earlier question, and the answer if one was given in the meantime.
func (p *people) askChat(ctx, untilKilled context.Context, q terminal.Question) (a terminal.Answer, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	if q.IsPicker() {
		return terminal.Answer{}, p.offerCommands(ctx, q)
	}
	if q.Timeout <= 0 || q.Timeout > askTimeout {
		q.Timeout = askTimeout
	}
	id, earlier, asked, err := p.findEarlier(ctx, q)
	if err != nil {
		return terminal.Answer{}, err
	}
	answered, leave := p.stage.answers.Wait(id)
	defer leave()
	defer func() {
		if err != nil {
			a, err = p.closeUnanswered(untilKilled, id, err)
		}
		if err == nil {
			a.Option = terminal.OptionNumber(q.Options, a.Text)
		}
		if err == nil && q.Secret {
			p.eraseAnswer(untilKilled, id)
		}
	}()
	if asked { // it was asked before a crash, perhaps in other words
		q.Timeout, q.Options = earlier.Timeout, earlier.Options
		if earlier, _, err = p.stage.o.Store.Question(ctx, id); err != nil {
			return terminal.Answer{}, fmt.Errorf("look up question: %w", err)
		}
		if earlier.Answer != nil {
			return givenAnswer(earlier), nil
		}
	} else if err := p.postQuestion(ctx, id, q); err != nil {
		return terminal.Answer{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, q.Timeout, terminal.ErrNoAnswer)
	defer cancel()
	p.clock.begin()
	p.display.Refresh()
	defer p.display.Refresh()
	defer p.clock.end()
	select {
	case r := <-answered:
		return r.answer, r.err
	case <-ctx.Done():
		return terminal.Answer{}, context.Cause(ctx)
	}
}

// eraseAnswer removes a secret answer, which the turn has now, from the store. The end of the turn
// repeats it.
func (p *people) eraseAnswer(untilKilled context.Context, id string) {
	if err := p.stage.o.Store.EraseAnswer(context.WithoutCancel(untilKilled), id); err != nil {
		p.log.Warn("secret answer not erased yet", zap.Error(err))
	}
}

// findEarlier looks up the question in the store, in case that an attempt before a crash has asked
// it. A question that expired without an answer is asked again, and so is one whose secret answer
// was erased.
func (p *people) findEarlier(ctx context.Context, q terminal.Question) (
	id string, earlier store.Question, asked bool, err error,
) {
	for {
		id = p.questionID(q)
		if earlier, asked, err = p.stage.o.Store.Question(ctx, id); err != nil {
			return id, earlier, false, fmt.Errorf("look up question: %w", err)
		}
		if !asked || earlier.Answer != nil || !earlier.Closed && !earlier.Expired {
			return id, earlier, asked, nil
		}
	}
}

// givenAnswer returns the answer that is stored with a question.
func givenAnswer(q store.Question) terminal.Answer { return terminal.Answer{Text: *q.Answer, By: q.By} }

// questionID returns an ID that stays the same when the turn is retried, and is short enough for a
// button. A question that is repeated within one attempt gets another ID.
func (p *people) questionID(q terminal.Question) string {
	p.askedMu.Lock()
	defer p.askedMu.Unlock()
	if p.asked == nil {
		p.asked = map[[2]string]int{}
	}
	what := [2]string{q.ID, q.Text}
	if q.UniqueID {
		what[1] = ""
	}
	p.asked[what]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%d\x00%s\x00%s", p.inbound.ID, p.asked[what], what[0], what[1]))
	return hex.EncodeToString(sum[:8])
}

// postQuestion sends a question to the chat.
func (p *people) postQuestion(ctx context.Context, id string, q terminal.Question) error {
	q.ID = id
	m := channels.Message{ReplyTo: p.inbound.In.ID, Language: p.inbound.In.User.Language}
	if !q.IsPicker() { // the turn waits
		p.display.MessageBelow()
		m.Mention = p.elapsed() > mentionAfter
	}
	err := p.stage.o.Outbox.Ask(ctx, store.Question{Question: q, Inbound: p.inbound.ID, Chat: p.inbound.In.Chat}, m)
	p.isFenced(err)
	return err
}

// offerCommands posts a question whose options are commands, for which the turn does not wait. A
// turn that is retried after a crash does not post it again.
func (p *people) offerCommands(ctx context.Context, q terminal.Question) error {
	id := p.questionID(q)
	if _, posted, err := p.stage.o.Store.Question(ctx, id); err != nil || posted {
		return err
	}
	return p.postQuestion(ctx, id, q)
}

// closePickers closes the pickers that earlier turns have posted since this turn's message arrived,
// which has closed those before.
func (p *people) closePickers(ctx context.Context) {
	if err := p.stage.o.Outbox.ClosePickers(ctx, p.inbound.In.Chat, p.inbound.ID, p.words); err != nil {
		p.log.Warn("pickers not closed", zap.Error(err))
	}
}

// closeUnanswered closes a question that is no longer waited for, so that it does not receive
// answers to a later one. If an answer has arrived at the same moment, it counts. During a shutdown
// the question stays open for the next attempt of the turn.
func (p *people) closeUnanswered(untilKilled context.Context, id string, why error) (terminal.Answer, error) {
	if untilKilled.Err() != nil {
		return terminal.Answer{}, why
	}
	ctx := context.WithoutCancel(untilKilled)
	withdrawn, err := p.stage.o.Store.Withdraw(ctx, id)
	var q store.Question
	if err == nil {
		q, _, err = p.stage.o.Store.Question(ctx, id)
	}
	switch {
	case err != nil: // the question is closed at the end of the turn
		p.log.Warn("question not closed", zap.Error(err))
	case q.Answer != nil:
		return givenAnswer(q), nil
	case withdrawn && errors.Is(why, terminal.ErrDoneElsewhere):
		p.stage.o.Outbox.ShowOutcome(q, p.words.Text(words.DoneElsewhere))
	case withdrawn || q.Expired: // which the store may have closed in the same moment
		p.stage.o.Outbox.ShowOutcome(q, p.words.Text(words.NoAnswer))
	}
	return terminal.Answer{}, why
}

// unansweredQuestions returns the questions that an earlier attempt of a turn may have left. Those
// that have expired since, for example while the gateway was not running, are among them.
func (s *Stage) unansweredQuestions(ctx context.Context, inbound store.Inbound) []store.Question {
	left, err := s.o.Store.UnansweredQuestions(ctx, inbound.In.Chat, inbound.ID)
	if err != nil {
		s.o.Log.Warn("unanswered questions not read", zap.Int64("run", inbound.ID), zap.Error(err))
	}
	return left
}

// removeButtons shows that questions which ended with their turn were not answered.
func (s *Stage) removeButtons(inbound store.Inbound, questions []store.Question) {
	for _, q := range questions {
		s.o.Outbox.ShowOutcome(q, s.o.Words.For(inbound.In.User.Language).Text(words.NoAnswer))
	}
}
