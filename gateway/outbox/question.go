package outbox

import (
	"context"
	"errors"
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

// receiptWait is how long ShowOutcome waits for the question itself to be sent.
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
	m.Chat, m.Kind, m.Text = q.Chat, channels.Answer, questionText(q)
	for i, option := range q.Options {
		m.Buttons = append(m.Buttons, channels.Button{
			Label: option, Data: press.Answer(q.ID, i+1), Stays: true,
			Role: channels.Answers,
		})
	}
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

// ShowOutcome shows the outcome of a question instead of its buttons, where the channel can do
// that; if it can replace messages, also instead of the options. The change is cosmetic: nobody
// waits for it, and it is not repeated after a crash.
func (box *Outbox) ShowOutcome(q store.Question, how string) {
	change := changeToOutcome(box.o.Channels[q.Chat.Channel], q, how)
	if change == nil {
		return
	}
	box.spawn(func(ctx context.Context, _ *backgroundTask) {
		ctx, cancel := context.WithTimeout(ctx, CallTimeout)
		defer cancel()
		id := box.awaitReceipt(ctx, q)
		for id != "" {
			err := box.Call(q.Chat, func() error { return change(ctx, id) })
			var se *channels.SendError
			if err == nil || errors.As(err, &se) && se.Permanent || !retry.Sleep(ctx, max(RetryAfter(err), firstBackoff)) {
				if err != nil {
					box.o.Log.Debug("outcome of question not shown", zap.Stringer("chat", q.Chat), zap.Error(err))
				}
				return
			}
		}
	})
}

// changeToOutcome returns the call that shows the outcome of a question in the message with an ID;
// nil: the channel cannot.
func changeToOutcome(ch channels.Channel, q store.Question, how string) func(ctx context.Context, id string) error {
	switch c := ch.(type) {
	case channels.Replacer:
		out, ok := outcomeMessage(ch, q, how)
		if !ok {
			return nil
		}
		return func(ctx context.Context, id string) error {
			_, err := c.Replace(ctx, id, out)
			return err
		}
	case channels.QuestionCloser:
		return func(ctx context.Context, id string) error { return c.CloseQuestion(ctx, q.Chat, id, how) }
	}
	return nil
}

// awaitReceipt returns the network's ID of a question, which may still be on its way; "" if it does
// not arrive in time.
func (box *Outbox) awaitReceipt(ctx context.Context, q store.Question) string {
	until := time.Now().Add(receiptWait)
	for pause := 20 * time.Millisecond; q.Receipt == "" && time.Now().Before(until); pause *= 2 {
		if q.Outbound != store.Pending && q.Outbound != store.Sending || !retry.Sleep(ctx, pause) {
			return ""
		}
		now, found, err := box.o.Store.Question(ctx, q.ID)
		if err != nil || !found {
			return ""
		}
		q = now
	}
	return q.Receipt
}

// outcomeMessage returns the message that replaces the last part of a question.
func outcomeMessage(ch channels.Channel, q store.Question, how string) (channels.Outgoing, bool) {
	plan := func(text string) []channels.Outgoing {
		parts, err := ch.Plan(channels.Message{Chat: q.Chat, Kind: channels.Answer, Text: text})
		if err != nil {
			return nil
		}
		return parts
	}
	before := plan(questionText(q))
	after := plan(q.Text + "\n\n→ " + how)
	if len(after) != len(before) { // it is split differently now
		after = plan("→ " + how)
	}
	if len(after) == 0 {
		return channels.Outgoing{}, false
	}
	last := after[len(after)-1]
	return last, len(last.Media) == 0
}
