package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// askTimeout is how long a question waits for an answer at most. The turn's own timeout is usually shorter.
const askTimeout = time.Hour

// answerPress leads what the buttons of a question carry.
const answerPress = "answer:"

// errNoAnswer says that nobody answered in time.
var errNoAnswer = errors.New("timeout")

// notOpen is what somebody is told who presses a button that has lost its meaning.
const notOpen = "This question is not open any more."

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
		buttons = append(buttons, channels.Button{Label: option, Data: fmt.Sprintf("%s%s:%d", answerPress, id, i+1)})
	}
	question := store.Question{ID: id, Item: t.item.ID, Chat: t.item.In.Chat, Text: q.Text, Options: q.Options, Expires: time.Now().Add(q.Within)}
	return t.g.outbox.Ask(ctx, outbox.Question{Question: question, ReplyTo: t.item.In.ID, Buttons: buttons})
}

// answer takes a message as the answer to a question that is open in its chat, if there is one: a press on its button, the number or
// the words of an option, or any text when there are no options. It reports whether the message was one.
func (g *Gateway) answer(ctx context.Context, in channels.Incoming) (bool, error) {
	q, ok, err := g.question(ctx, in)
	if errors.Is(err, errUnclear) {
		return true, g.settle(ctx, in, whichOne)
	}
	if err != nil || !ok {
		return false, err
	}
	text, ok := choose(q, in)
	if !ok {
		return false, nil
	}
	reply := &store.Reply{Question: q.ID, Text: text, By: in.User.ID}
	// When the question was closed meanwhile, text is a message like others. A button is only a button.
	_, verdict, err := g.accept(ctx, store.Arrival{In: in, Settle: in.Press != "", Reply: reply})
	if err != nil || verdict == store.Queued || verdict == store.Claimed {
		return true, err
	}
	// Somebody else may have been first.
	if q, _, err = g.o.Store.Question(ctx, q.ID); err != nil {
		return true, fmt.Errorf("read answer: %w", err)
	}
	switch {
	case q.Answer != nil:
		g.answers.tell(q.ID, answerTo(q))
		if q.By == in.User.ID && verdict == store.Settled {
			g.auditAnswer(in, q)
			g.outbox.ShowEnd(q, chosen(q, in.User))
		}
	case verdict == store.Settled: // its turn has ended, or its time is up
		return true, g.note(ctx, in, notOpen)
	}
	return true, nil
}

// question is what a message may be the answer to: of a press what the button belongs to, otherwise what is open in the chat.
func (g *Gateway) question(ctx context.Context, in channels.Incoming) (store.Question, bool, error) {
	if data, ok := strings.CutPrefix(in.Press, answerPress); ok {
		id, _, _ := strings.Cut(data, ":")
		q, ok, err := g.o.Store.Question(ctx, id)
		return q, ok && q.Answer == nil && q.Chat == in.Chat, err
	}
	if g.running(in.Chat) == nil || in.Press != "" {
		return store.Question{}, false, nil
	}
	open, err := g.o.Store.OpenQuestions(ctx, in.Chat, time.Now())
	if err != nil {
		return store.Question{}, false, err
	}
	return meant(open, in)
}

// errUnclear says that a message could be the answer to more than one question.
var errUnclear = errors.New("it is not clear which question that answers")

// whichOne is what somebody is told then.
const whichOne = "Which question do you mean? Press a button under it, or reply to it."

// meant finds the question among the open ones that typed words answer. They may be a permission, so it must be sure what the person has in
// mind: the one they reply to, or the only one, if they can see it and saw none below it.
func meant(open []store.Question, in channels.Incoming) (store.Question, bool, error) {
	if in.ReplyTo != nil {
		i := slices.IndexFunc(open, func(q store.Question) bool { return q.Receipt != "" && q.Receipt == in.ReplyTo.ID })
		if i < 0 {
			return store.Question{}, false, nil
		}
		return open[i], true, nil
	}
	unseen := func(q store.Question) bool { return q.Letter == store.Pending || q.Letter == store.Failed }
	fits := func(q store.Question) bool { _, ok := choose(q, in); return ok && !unseen(q) }
	switch {
	case !slices.ContainsFunc(open, fits):
		return store.Question{}, false, nil
	case len(open) > 1 || !open[0].Newest:
		return store.Question{}, false, errUnclear
	}
	return open[0], true, nil
}

// pressed settles the press of a button that is neither a command nor an answer: an old one.
func (g *Gateway) pressed(ctx context.Context, in channels.Incoming) error {
	data, ok := strings.CutPrefix(in.Press, answerPress)
	if !ok {
		return g.settle(ctx, in, "")
	}
	id, _, _ := strings.Cut(data, ":")
	q, found, err := g.o.Store.Question(ctx, id)
	if err != nil {
		return fmt.Errorf("read question: %w", err)
	}
	if found && q.Answer != nil && q.Chat == in.Chat { // pressed twice perhaps; there is an answer, which can be seen to work
		return g.settle(ctx, in, "")
	}
	return g.settle(ctx, in, notOpen)
}

// choose finds the option that a message means.
func choose(q store.Question, in channels.Incoming) (string, bool) {
	said := strings.TrimSpace(in.Text)
	if _, number, ok := strings.Cut(strings.TrimPrefix(in.Press, answerPress), ":"); ok {
		said = number
	}
	if len(q.Options) == 0 {
		return in.Text, said != ""
	}
	return option(q.Options, said)
}

// option finds the option that somebody means by its number or its words. Without options all words are an answer.
func option(options []string, said string) (string, bool) {
	said = strings.TrimSpace(said)
	if len(options) == 0 {
		return said, said != ""
	}
	if n, err := strconv.Atoi(said); err == nil && n >= 1 && n <= len(options) {
		return options[n-1], true
	}
	i := slices.IndexFunc(options, func(o string) bool { return strings.EqualFold(o, said) })
	if i < 0 {
		return "", false
	}
	return options[i], true
}
