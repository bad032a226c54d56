package gateway

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

const (
	// noAnswer is how a question ends that nobody answered.
	noAnswer = "no answer"
	// longestShown bounds what is shown of an answer in people's own words, in runes.
	longestShown = 80
	// receiptWait is how long the end of a question waits for the question itself to be sent.
	receiptWait = 10 * time.Second
)

// unanswered closes a question that waits no more, so that it takes no answer that is meant for another. One that was answered at the same
// moment is answered. When we shut down it stays open, for the next run of the item.
func (t *turn) unanswered(id string, why error) (terminal.Answer, error) {
	if t.g.killed.Err() != nil {
		return terminal.Answer{}, why
	}
	ctx := context.WithoutCancel(t.ctx)
	withdrawn, err := t.g.o.Store.Withdraw(ctx, id)
	var q store.Question
	if err == nil {
		q, _, err = t.g.o.Store.Question(ctx, id)
	}
	switch {
	case err != nil: // it is closed with the turn
		t.log.Warn("question not closed", zap.Error(err))
	case q.Answer != nil:
		return answerTo(q), nil
	case withdrawn:
		t.g.showEnd(q, noAnswer)
	}
	return terminal.Answer{}, why
}

// chosen says what a question was answered with, and by whom.
func chosen(q store.Question, by channels.User) string {
	answer := *q.Answer
	if len(q.Options) == 0 {
		answer = literal(short(answer, longestShown))
	}
	return answer + " (by " + literal(short(cmp.Or(by.Name, by.Username, by.ID), longestShown)) + ")"
}

// short is the first line of a text, cut to a number of runes.
func short(text string, most int) string {
	line := firstLine(text)
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}

// literal writes people's own words in Markdown.
func literal(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_{}[]()<>#+-.!|~&:@", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// showEnd makes the message of a question say how that ended, without the options and the buttons, where messages can be changed. It is
// only for the eye: nobody waits for it, and after a crash it is not made up for.
func (g *Gateway) showEnd(q store.Question, how string) {
	ch := g.o.Channels[q.Chat.Channel]
	r, ok := ch.(channels.Replacer)
	if !ok {
		return
	}
	out, ok := ending(ch, q, how)
	if !ok {
		return
	}
	g.senders.background(func() {
		ctx, cancel := context.WithTimeout(g.senders.ctx, sendTimeout)
		defer cancel()
		id := g.receipt(ctx, q)
		for id != "" {
			_, err := r.Replace(ctx, id, out)
			var se *channels.SendError
			if err == nil || errors.As(err, &se) && se.Permanent || !retry.Sleep(ctx, max(waitOf(err), firstPause)) {
				if err != nil {
					g.o.Log.Debug("end of question not shown", zap.Stringer("chat", q.Chat), zap.Error(err))
				}
				return
			}
		}
	})
}

// receipt is the network's id of a question, which may be on its way there; "" when it does not arrive soon.
func (g *Gateway) receipt(ctx context.Context, q store.Question) string {
	until := time.Now().Add(receiptWait)
	for pause := 20 * time.Millisecond; q.Receipt == "" && time.Now().Before(until); pause *= 2 {
		if q.Letter != store.Pending && q.Letter != store.Sending || !retry.Sleep(ctx, pause) {
			return ""
		}
		now, found, err := g.o.Store.Question(ctx, q.ID)
		if err != nil || !found {
			return ""
		}
		q = now
	}
	return q.Receipt
}

// ending is what takes the place of the last part of a question.
func ending(ch channels.Channel, q store.Question, how string) (channels.Outgoing, bool) {
	plan := func(text string) []channels.Outgoing {
		parts, err := ch.Plan(channels.Message{Chat: q.Chat, Kind: channels.Answer, Text: text})
		if err != nil {
			return nil
		}
		return parts
	}
	before := plan(questionText(terminal.Question{Text: q.Text, Options: q.Options}))
	after := plan(q.Text + "\n\n→ " + how)
	if len(after) != len(before) { // it is cut elsewhere now
		after = plan("→ " + how)
	}
	if len(after) == 0 {
		return channels.Outgoing{}, false
	}
	last := after[len(after)-1]
	return last, len(last.Media) == 0
}
