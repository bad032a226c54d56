package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

const (
	// notOpen is the answer to the press of a button that has lost its meaning.
	notOpen = "This question is not open any more."
	// longestShown bounds what is shown of an answer in people's own words, in runes.
	longestShown = 80
)

// answer takes a message as the answer to a question that is open in its chat, if there is one: a
// press on its button, the number or the words of an option, or any text when there are no options.
// It reports whether the message was one.
func (i *Intake) answer(ctx context.Context, in channels.Incoming) (bool, error) {
	q, ok, err := i.question(ctx, in)
	if errors.Is(err, errUnclear) {
		return true, i.settle(ctx, in, whichOne)
	}
	if err != nil || !ok {
		return false, err
	}
	if i.asksAboutRun(q) {
		return i.answerRun(ctx, in, q)
	}
	text, ok := choose(q, in)
	if !ok {
		return false, nil
	}
	if may, err := i.mayAnswer(ctx, in, q); err != nil {
		return true, err
	} else if !may {
		return true, i.refuseAnswer(ctx, in, q)
	}
	reply := &store.Reply{Question: q.ID, Text: text, By: in.User.ID}
	// When the question was closed meanwhile, text is a message like others. A button is only a
	// button.
	request := store.ReceiveRequest{In: in, Settle: in.Press != "", Reply: reply}
	if err := i.assign(ctx, &request); err != nil {
		return true, err
	}
	result, err := i.accept(ctx, request)
	settled := result.Disposition == store.Settled
	if result.Disposition == store.Queued {
		i.readLate(ctx, i.running(in.Chat, result), result.Inbound)
	}
	if err != nil || result.Disposition == store.Queued || result.Disposition == store.Claimed {
		return true, err
	}
	// Somebody else may have been first.
	if q, _, err = i.o.Store.Question(ctx, q.ID); err != nil {
		return true, fmt.Errorf("read answer: %w", err)
	}
	switch {
	case q.Answer != nil:
		i.o.Answered(q.ID, terminal.Answer{Text: *q.Answer, By: q.By})
		if q.By == in.User.ID && settled {
			i.recordAnswer(in, q)
			i.o.Outbox.ShowOutcome(q, chosen(q, in.User))
		}
	case settled: // its turn has ended, or its time is up
		return true, i.note(ctx, in, notOpen)
	}
	return true, nil
}

// question is what a message may be the answer to: of a press what the button belongs to, otherwise
// what is open in the chat.
func (i *Intake) question(ctx context.Context, in channels.Incoming) (store.Question, bool, error) {
	if data, ok := strings.CutPrefix(in.Press, outbox.AnswerPress); ok {
		id, _, _ := strings.Cut(data, ":")
		q, ok, err := i.o.Store.Question(ctx, id)
		return q, ok && q.Answer == nil && q.Chat == in.Chat, err
	}
	if in.Press != "" {
		return store.Question{}, false, nil
	}
	open, err := i.o.Store.OpenQuestions(ctx, in.Chat)
	// What is decided about a run may matter much, and the question may be days old: words are an
	// answer only if they are a reply to it.
	if at := slices.IndexFunc(open, func(q store.Question) bool { return i.asksAboutRun(q) && repliesTo(in, q) }); at >= 0 {
		return open[at], true, nil
	}
	open = slices.DeleteFunc(open, i.asksAboutRun)
	if err != nil || len(open) == 0 {
		return store.Question{}, false, err
	}
	if i.find(in.Chat, open[0].Inbound) == nil {
		// Its agent has ended and takes no answer, unless another member runs it.
		asking, _, err := i.o.Store.Inbound(ctx, open[0].Inbound)
		if err != nil || asking.State != store.Running || asking.Owner == i.o.Store.Member() {
			return store.Question{}, false, err
		}
	}
	return meant(open, in)
}

// asksAboutRun reports whether a question is about a run of a runbook.
func (i *Intake) asksAboutRun(q store.Question) bool {
	return i.o.Runbooks != nil && i.o.Runbooks.IsQuestion(q.ID)
}

// repliesTo reports whether a message is a reply to the message of a question.
func repliesTo(in channels.Incoming, q store.Question) bool {
	return in.ReplyTo != nil && q.Receipt != "" && q.Receipt == in.ReplyTo.ID
}

// errUnclear says that a message could be the answer to more than one question.
var errUnclear = errors.New("it is not clear which question that answers")

// whichOne is what somebody is told then.
const whichOne = "Which question do you mean? Press a button under it, or reply to it."

// meant finds the question among the open ones that typed words answer. They may be a permission,
// so it must be sure what the person has in mind: the one they reply to, or the only one, if they
// can see it and saw none below it.
func meant(open []store.Question, in channels.Incoming) (store.Question, bool, error) {
	if in.ReplyTo != nil {
		at := slices.IndexFunc(open, func(q store.Question) bool { return repliesTo(in, q) })
		if at < 0 {
			return store.Question{}, false, nil
		}
		return open[at], true, nil
	}
	unseen := func(q store.Question) bool { return q.Outbound == store.Pending || q.Outbound == store.Failed }
	fits := func(q store.Question) bool { _, ok := choose(q, in); return ok && !unseen(q) }
	switch {
	case !slices.ContainsFunc(open, fits):
		return store.Question{}, false, nil
	case len(open) > 1 || !open[0].Newest:
		return store.Question{}, false, errUnclear
	}
	return open[0], true, nil
}

// settleOldButton settles the press of a button that is neither a command nor an answer: an old
// one.
func (i *Intake) settleOldButton(ctx context.Context, in channels.Incoming) error {
	data, ok := strings.CutPrefix(in.Press, outbox.AnswerPress)
	if !ok {
		return i.settle(ctx, in, "")
	}
	id, _, _ := strings.Cut(data, ":")
	q, found, err := i.o.Store.Question(ctx, id)
	if err != nil {
		return fmt.Errorf("read question: %w", err)
	}
	if found && q.Answer != nil && q.Chat == in.Chat { // pressed twice perhaps; there is an answer, which can be seen to work
		return i.settle(ctx, in, "")
	}
	return i.settle(ctx, in, notOpen)
}

// choose finds the option that a message means.
func choose(q store.Question, in channels.Incoming) (string, bool) {
	said := strings.TrimSpace(in.Text)
	if _, number, ok := strings.Cut(strings.TrimPrefix(in.Press, outbox.AnswerPress), ":"); ok {
		said = number
	}
	if len(q.Options) == 0 {
		return in.Text, said != ""
	}
	return Option(q.Options, said)
}

// Option finds the option that somebody means by its number or its words. Without options all words
// are an answer.
func Option(options []string, said string) (string, bool) {
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

// note sends the gateway's own words to a chat.
func (i *Intake) note(ctx context.Context, in channels.Incoming, text string) error {
	m := channels.Message{Chat: in.Chat, Kind: channels.Answer, Text: text, ReplyTo: in.ID}
	return i.o.Outbox.Post(ctx, &outbox.Message{Message: m})
}

// chosen says what a question was answered with, and by whom.
func chosen(q store.Question, by channels.User) string {
	answer := *q.Answer
	if len(q.Options) == 0 {
		answer = channels.Literal(channels.FirstLine(answer, longestShown))
	}
	return answer + " (by " + channels.Literal(channels.FirstLine(cmp.Or(by.Name, by.Username, by.ID), longestShown)) + ")"
}
