package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// maxShownRunes bounds the part of a person's text that is shown, in runes.
const maxShownRunes = 80

// answerQuestion handles a message that answers an open question of its chat: by a button, by the
// number or the text of an option, or by any text if the question accepts that. The answer is for a
// turn that waits, for a run, or chooses a command. isText says that the message is no command
// itself, and open are the open questions. It reports whether the message was an answer.
func (i *Intake) answerQuestion(ctx context.Context, in channels.Incoming, isText bool, open []store.Question) (
	bool, error,
) {
	if said, ok := press.ParseSay(in.Press); ok {
		return true, i.enqueueChoice(ctx, in, said, open)
	}
	q, err := i.findQuestion(ctx, in, isText, slices.Clone(open))
	ambiguous := errors.Is(err, errAmbiguous)
	switch {
	case err != nil && !ambiguous:
		return false, err
	case q.IsPicker():
		return i.chooseCommand(ctx, in, q, open)
	case in.Press == "":
		if err := i.closePickers(ctx, in, open); err != nil {
			return false, err
		}
	}
	switch {
	case ambiguous:
		unclear := store.ReceiveRequest{In: in, Cursor: in.Cursor, Settle: true, Reason: store.ByUnclear, Secret: q.Secret}
		_, err := i.storeAnswered(ctx, unclear, toSender(i.words(in).Text(words.WhichQuestion)))
		return true, err
	case !isText:
		return false, nil
	case q.ID == "":
		return i.dropLateSecret(ctx, in)
	case i.asksAboutRun(q):
		return i.answerRun(ctx, in, q)
	}
	return i.answerTurn(ctx, in, q)
}

// answerTurn handles the answer to a question of a turn.
func (i *Intake) answerTurn(ctx context.Context, in channels.Incoming, q store.Question) (bool, error) {
	text, ok := matchOption(q, in)
	if !ok {
		return false, nil
	}
	if refused, err := i.refuseAnswer(ctx, in, q); refused || err != nil {
		return true, err
	}
	reply := &store.Reply{Question: q.ID, Text: text, By: in.User.ID}
	// If the question was closed in the meantime, text is handled like any other message; a button
	// press or a secret is only stored.
	request := store.ReceiveRequest{
		In: in, Settle: in.Press != "", Reason: store.ByAnswer, Reply: reply, Secret: q.Secret && in.Press == "",
	}
	if err := i.assignAgent(&request); err != nil {
		return true, err
	}
	result, err := i.acceptMessage(ctx, request)
	i.removeMessages(result.Secrets)
	settled := result.Disposition == store.Settled
	if result.Disposition == store.Queued {
		i.offerLate(ctx, i.localTurn(in.Chat, result), result.Inbound)
	}
	if err != nil || result.Disposition == store.Queued || result.Disposition == store.Claimed {
		return true, err
	}
	// Another person may have answered first.
	if q, _, err = i.o.Store.Question(ctx, q.ID); err != nil {
		return true, fmt.Errorf("read answer: %w", err)
	}
	switch {
	case result.Replied:
		q.Answer = &text // the turn may have erased it
		i.o.Answered(q.ID, terminal.Answer{Text: text, By: in.User.ID}, nil)
		i.auditAnswer(in, q)
		i.o.Outbox.ShowOutcome(q, answerSummary(i.words(in), q, in.User))
	case q.Answer != nil:
		i.o.Answered(q.ID, terminal.Answer{Text: *q.Answer, By: q.By}, nil)
	case settled && q.By == "": // the turn has ended, or the question has expired
		i.o.Outbox.ShowOutcome(q, i.words(in).Text(words.NoAnswer)) // a crash may have left its buttons
		return true, i.postNotice(ctx, in, i.words(in).Text(words.QuestionClosed))
	}
	return true, nil
}

// findQuestion returns the question that a message may answer: the one of the pressed button, else
// an open question of the chat. Without one, the question has no ID.
func (i *Intake) findQuestion(ctx context.Context, in channels.Incoming, isText bool, open []store.Question) (
	store.Question, error,
) {
	if pressed, ok := press.ParseAnswer(in.Press); ok {
		q, found, err := i.o.Store.Question(ctx, pressed.Question)
		if err != nil || !found || q.Answer != nil || q.Chat != in.Chat || q.IsPicker() && q.Closed {
			return store.Question{}, err
		}
		return q, nil
	}
	if in.Press != "" {
		return store.Question{}, nil
	}
	if at := slices.IndexFunc(open, func(q store.Question) bool { return q.IsPicker() && chooses(in, q) }); at >= 0 {
		return open[at], nil
	}
	if !isText {
		return store.Question{}, nil
	}
	// A decision about a run matters, and its question may be days old, so that only replies to it
	// count as answers.
	aboutRun := func(q store.Question) bool { return i.asksAboutRun(q) && repliesTo(in, q) }
	if at := slices.IndexFunc(open, aboutRun); at >= 0 {
		return open[at], nil
	}
	open = slices.DeleteFunc(open, func(q store.Question) bool { return q.IsPicker() || i.asksAboutRun(q) })
	if len(open) == 0 {
		return store.Question{}, nil
	}
	if i.findTurn(in.Chat, open[0].Inbound) == nil {
		// The agent has ended and needs no answer, unless another member runs it.
		asking, _, err := i.o.Store.Inbound(ctx, open[0].Inbound)
		if err != nil || asking.State != store.Running || asking.Owner == i.o.Store.Member() {
			return store.Question{}, err
		}
	}
	return matchTyped(open, in)
}

func (i *Intake) asksAboutRun(q store.Question) bool {
	return i.o.Runbooks != nil && press.IsRunQuestion(q.ID)
}

// repliesTo reports whether a message is a reply to the message of a question.
func repliesTo(in channels.Incoming, q store.Question) bool {
	return in.ReplyTo != nil && q.Receipt != "" && q.Receipt == in.ReplyTo.ID
}

// errAmbiguous says that a message could answer more than one question.
var errAmbiguous = errors.New("it is not clear which question that answers")

// matchTyped returns the open question that typed text answers. The answer may be a permission, so
// it must be clear: the text replies to the question, or there is only one question, it was
// delivered, and no newer message of the bot is below it.
func matchTyped(open []store.Question, in channels.Incoming) (store.Question, error) {
	if in.ReplyTo != nil {
		at := slices.IndexFunc(open, func(q store.Question) bool { return repliesTo(in, q) })
		if at < 0 {
			return store.Question{}, nil
		}
		return open[at], nil
	}
	fits := func(q store.Question) bool { _, ok := matchOption(q, in); return ok && wasShown(q) }
	switch {
	case !slices.ContainsFunc(open, fits):
		return store.Question{}, nil
	case len(open) > 1 || !open[0].Newest:
		secret := slices.ContainsFunc(open, func(q store.Question) bool { return q.Secret })
		return store.Question{Question: terminal.Question{Secret: secret}}, errAmbiguous
	}
	return open[0], nil
}

// chooses reports whether a typed message chooses a command of a question.
func chooses(in channels.Incoming, q store.Question) bool {
	return in.Forwarded == nil && len(in.Media) == 0 && q.Newest &&
		(in.ReplyTo == nil && wasShown(q) || repliesTo(in, q)) && optionNumber(q, in) > 0
}

// wasShown reports whether the message of a question has reached the network.
func wasShown(q store.Question) bool {
	return q.Outbound != store.Pending && q.Outbound != store.Failed
}

// storeOldButton stores the press of a button that is neither a command nor an open question's.
func (i *Intake) storeOldButton(ctx context.Context, in channels.Incoming) error {
	pressed, ok := press.ParseAnswer(in.Press)
	if !ok {
		return i.storeWithoutTurn(ctx, in, store.ByLateReply, "")
	}
	q, found, err := i.o.Store.Question(ctx, pressed.Question)
	if err != nil {
		return fmt.Errorf("read question: %w", err)
	}
	if found && q.Answer != nil && q.Chat == in.Chat && !i.asksAboutRun(q) { // it was probably pressed twice
		return i.storeWithoutTurn(ctx, in, store.ByLateReply, "")
	}
	return i.storeWithoutTurn(ctx, in, store.ByLateReply, i.words(in).Text(words.QuestionClosed))
}

// matchOption returns the answer that a message gives.
func matchOption(q store.Question, in channels.Incoming) (string, bool) {
	if in.Press == "" {
		return q.ParseAnswer(in.Text)
	}
	n := optionNumber(q, in)
	if n == 0 {
		return "", false
	}
	return q.Options[n-1], true
}

// optionNumber returns the number of the option that a message chooses, from 1; 0: none.
func optionNumber(q store.Question, in channels.Incoming) int {
	pressed, ok := press.ParseAnswer(in.Press)
	switch {
	case !ok:
		return q.FindOption(in.Text)
	case pressed.Option < 1 || pressed.Option > len(q.Options):
		return 0
	}
	return pressed.Option
}

// postNotice tells the sender of a message something: by a message of the gateway, or in response
// to a press.
func (i *Intake) postNotice(ctx context.Context, in channels.Incoming, text string) error {
	if answersPress(in) {
		respond(in, text)
		return nil
	}
	m := channels.Message{
		Chat: in.Chat, Kind: channels.Answer, Text: text, ReplyTo: in.ID, Language: in.User.Language,
		Notification: channels.Notification{Silent: true},
	}
	return i.o.Outbox.Post(ctx, &outbox.Message{Message: m})
}

// answerSummary describes the answer to a question and the person who gave it.
func answerSummary(w words.Words, q store.Question, by channels.User) string {
	answer := *q.Answer
	switch {
	case slices.Contains(q.Options, answer):
	case q.Secret:
		answer = w.Text(words.SecretAnswer)
	default:
		answer = channels.EscapeMarkdown(channels.FirstLine(answer, maxShownRunes))
	}
	return w.Text(words.AnsweredBy, answer, personName(by))
}

// personName returns the name of a person as Markdown.
func personName(u channels.User) string {
	return channels.EscapeMarkdown(channels.FirstLine(cmp.Or(u.Name, u.Username, u.ID), maxShownRunes))
}
