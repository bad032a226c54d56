package gateway

import (
	"context"
	"errors"
	"io"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/outbox"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// errLeft says that the person has left.
var errLeft = errors.New("there is nobody to answer")

// ask asks the person at the terminal a question and reads the answer. A person who leaves instead
// stops the turn.
func (g *Direct) ask(r reply, stop func()) terminal.Ask {
	if g.Answer == nil {
		return nil
	}
	return func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
		g.inputMu.Lock()
		defer g.inputMu.Unlock()
		if err := ctx.Err(); err != nil {
			return terminal.Answer{}, err
		}
		text := outbox.QuestionText(q.Text, q.Options)
		for {
			if err := r.send(context.WithoutCancel(ctx), channels.Message{Kind: channels.Answer, Text: text}); err != nil {
				return terminal.Answer{}, err
			}
			answer := g.Answer
			if q.Secret && g.AnswerSecret != nil {
				answer = g.AnswerSecret
			}
			said, err := answer(ctx)
			if errors.Is(err, io.EOF) {
				stop()
				<-ctx.Done() // the agent must be told to stop before it learns that there is no answer
				return terminal.Answer{}, errLeft
			}
			if err != nil {
				return terminal.Answer{}, err
			}
			options := q.Options
			if q.OtherText == terminal.OtherTextAnswers {
				options = nil // every text is an answer as it is written
			}
			if answer, ok := intake.MatchOption(options, said); ok {
				return terminal.Answer{Text: answer, By: r.in.User.ID}, nil
			}
			if q.OtherText == terminal.OtherTextDismisses && g.Dismissed != nil && strings.TrimSpace(said) != "" {
				g.Dismissed(said)
				return terminal.Answer{}, &terminal.DismissedError{By: r.in.User.ID}
			}
			text = g.Words.Text(words.ChatAnswerHow)
		}
	}
}
