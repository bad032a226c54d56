package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/press"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

// receiptWait is how long changeQuestion waits for the question itself to be sent.
const receiptWait = 10 * time.Second

// Ask stores a question and sends it with a button for each option, which every channel shows. An
// option can also be chosen by its number. The buttons stay after a press, which may be refused:
// ShowOutcome removes them together with the options, in one edit. m has what only the message
// needs: ReplyTo, Notification and the language of the person who is asked.
func (box *Outbox) Ask(ctx context.Context, q store.Question, m channels.Message) error {
	ch, ok := box.o.Channels[q.Chat.Channel]
	if !ok {
		return fmt.Errorf("no channel %s", q.Chat.Channel)
	}
	m.Chat, m.Kind, m.Text, m.Buttons = q.Chat, channels.Answer, questionText(q), questionButtons(q)
	parts, err := ch.Plan(m)
	if err != nil {
		return fmt.Errorf("plan question: %w", err)
	}
	if err := box.o.Store.Ask(ctx, q, store.Outbound{Inbound: q.Inbound, Parts: parts}); err != nil {
		return fmt.Errorf("store question: %w", err)
	}
	box.Wake(q.Chat)
	return nil
}

// questionButtons returns the buttons of a question's options.
func questionButtons(q store.Question) (all []channels.Button) {
	for i, option := range q.Options {
		all = append(all, channels.Button{
			Label: option, Data: press.Answer(q.ID, i+1), Stays: true,
			Role: channels.Answers,
		})
	}
	return all
}

// maxLabelRunes is the length up to which networks show the whole label of a button.
const maxLabelRunes = 40

// questionText returns the text of a question. Options that their buttons cannot show as a whole
// are listed in it.
func questionText(q store.Question) string {
	if slices.ContainsFunc(q.Options, func(o string) bool { return utf8.RuneCountInString(o) > maxLabelRunes }) {
		return QuestionText(q.Text, q.Options)
	}
	return q.Text
}

// QuestionText returns a question with its options as a numbered list.
func QuestionText(text string, options []string) string {
	lines := []string{text}
	for i, option := range options {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, option))
	}
	return strings.Join(lines, "\n")
}

// CloseQuestion closes an open question without an answer, and shows how it ended. It reports false
// if the question was closed before.
func (box *Outbox) CloseQuestion(ctx context.Context, q store.Question, how string) (bool, error) {
	closed, err := box.o.Store.Withdraw(ctx, q.ID)
	if err != nil {
		return false, fmt.Errorf("close question: %w", err)
	}
	if closed {
		box.ShowOutcome(q, how)
	}
	return closed, nil
}

// maxQuestionChanges bounds the questions whose messages are being changed.
const maxQuestionChanges = 4096

// questionChange changes the message of a question, which has an ID on the network.
type questionChange func(ctx context.Context, id string) error

// ShowOutcome shows the outcome of a question instead of its buttons, where the channel can do
// that; if it can replace messages, also instead of the options. The change is cosmetic: nobody
// waits for it, and it is not repeated after a crash.
func (box *Outbox) ShowOutcome(q store.Question, how string) {
	if change := changeToOutcome(box.o.Channels[q.Chat.Channel], q, how); change != nil {
		box.changeQuestion(q, change)
	}
}

// ShowState shows the state of an open question below its text, such as who has approved so far. A
// channel that cannot replace messages gets a message instead.
func (box *Outbox) ShowState(ctx context.Context, q store.Question, state string) error {
	ch := box.o.Channels[q.Chat.Channel]
	replacer, ok := ch.(channels.Replacer)
	if !ok {
		return box.Post(ctx, &Message{Message: channels.Message{
			Chat: q.Chat, Kind: channels.Answer, Text: state, Notification: channels.Notification{Silent: true},
		}})
	}
	if out, ok := lastPart(ch, q, questionText(q)+"\n\n"+state, questionButtons(q)); ok {
		box.changeQuestion(q, replaceBy(replacer, out))
	}
	return nil
}

// changeQuestion changes the message of a question in the background.
func (box *Outbox) changeQuestion(q store.Question, change questionChange) {
	if !box.questions.add(q.ID, change, maxQuestionChanges) {
		return
	}
	box.spawn(func(ctx context.Context, _ *backgroundTask) {
		id := awaitReceipt(ctx, box.o.Store, q)
		for change, ok := box.questions.next(q.ID); ok; change, ok = box.questions.next(q.ID) {
			if id == "" {
				continue
			}
			err := box.networks.tryUntil(ctx, q.Chat, CallTimeout, func(ctx context.Context) error {
				if box.questions.hasNext(q.ID) {
					return errSuperseded
				}
				return change(ctx, id)
			})
			if err != nil {
				box.o.Log.Debug("question not changed", zap.Stringer("chat", q.Chat), zap.Error(err))
			}
		}
	})
}

// changeToOutcome returns the call that shows the outcome of a question in the message with an ID;
// nil: the channel cannot.
func changeToOutcome(ch channels.Channel, q store.Question, how string) questionChange {
	switch c := ch.(type) {
	case channels.Replacer:
		out, ok := lastPart(ch, q, q.Text+"\n\n→ "+how, nil)
		if !ok {
			q.Text, q.Options = "→ "+how, nil
			out, ok = lastPart(ch, q, q.Text, nil)
		}
		if ok {
			return replaceBy(c, out)
		}
	case channels.QuestionCloser:
		return func(ctx context.Context, id string) error { return c.CloseQuestion(ctx, q.Chat, id, how) }
	}
	return nil
}

// awaitReceipt returns the network's ID of a question, which may still be on its way; "" if it does
// not arrive in time.
func awaitReceipt(ctx context.Context, s Store, q store.Question) string {
	until := time.Now().Add(receiptWait)
	for pause := 20 * time.Millisecond; q.Receipt == "" && time.Now().Before(until); pause *= 2 {
		if q.Outbound != store.Pending && q.Outbound != store.Sending || !retry.Sleep(ctx, pause) {
			return ""
		}
		now, found, err := s.Question(ctx, q.ID)
		if err != nil || !found {
			return ""
		}
		q = now
	}
	return q.Receipt
}

// lastPart returns the message that replaces the last part of a question, so that it has a new
// text. It reports false if the new text is split differently.
func lastPart(ch channels.Channel, q store.Question, text string, buttons []channels.Button) (channels.Outgoing, bool) {
	m := channels.Message{Chat: q.Chat, Kind: channels.Answer, Text: questionText(q), Buttons: buttons}
	before, err := ch.Plan(m)
	m.Text = text
	after, err2 := ch.Plan(m)
	if err != nil || err2 != nil || len(after) == 0 || len(after) != len(before) {
		return channels.Outgoing{}, false
	}
	last := after[len(after)-1]
	return last, len(last.Media) == 0
}

// replaceBy returns the change that replaces the message of a question.
func replaceBy(r channels.Replacer, out channels.Outgoing) questionChange {
	return func(ctx context.Context, id string) error {
		_, err := r.Replace(ctx, id, out)
		return err
	}
}
