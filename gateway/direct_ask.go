package gateway

import (
	"context"
	"errors"
	"io"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// errLeft says that the person has left.
var errLeft = errors.New("there is nobody to answer")

// Ask asks the person at the terminal a question and reads the answer. A person who leaves instead
// stops the turn.
func (c *directChat) Ask(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
	if c.Answer == nil || q.IsPicker() { // commands are typed
		return terminal.Answer{}, terminal.ErrNobodyToAsk
	}
	c.inputMu.Lock()
	defer c.inputMu.Unlock()
	if err := ctx.Err(); err != nil {
		return terminal.Answer{}, err
	}
	text := outbox.QuestionText(q.Text, q.Options)
	for {
		if err := c.show(channels.Message{Kind: channels.Answer, Text: text}); err != nil {
			return terminal.Answer{}, err
		}
		answer := c.Answer
		if q.Secret && c.AnswerSecret != nil {
			answer = c.AnswerSecret
		}
		said, err := answer(ctx)
		if errors.Is(err, io.EOF) {
			c.stop()
			<-ctx.Done() // the agent must be told to stop before it learns that there is no answer
			return terminal.Answer{}, errLeft
		}
		if err != nil {
			return terminal.Answer{}, err
		}
		if answer, ok := q.ParseAnswer(strings.TrimSpace(said)); ok {
			return terminal.Answer{Text: answer, By: c.in.User.ID}, nil
		}
		if q.OtherText == terminal.OtherTextDismisses && c.Dismissed != nil && strings.TrimSpace(said) != "" {
			c.Dismissed(said)
			return terminal.Answer{}, &terminal.DismissedError{By: c.in.User.ID}
		}
		text = c.Words.Text(words.ChatAnswerHow)
	}
}
