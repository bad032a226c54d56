package gateway

import (
	"cmp"
	"context"
	"strings"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

const (
	// noAnswer is how a question ends that nobody answered.
	noAnswer = "no answer"
	// longestShown bounds what is shown of an answer in people's own words, in runes.
	longestShown = 80
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
		t.g.outbox.ShowEnd(q, noAnswer)
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
