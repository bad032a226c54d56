package runbooks

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// skipForm is the answer that skips a step, with a reason.
const skipForm = "skip REASON"

// Question is a question to the person who executes a run.
type Question struct {
	Text    string
	Answers []string // nil accepts any text
}

// parseAnswer returns the normalized answer, and whether the question accepts it.
func (q Question) parseAnswer(answer string) (string, bool) {
	if q.Answers == nil {
		return answer, true
	}
	answer = strings.TrimSpace(answer)
	word, reason, _ := strings.Cut(answer, " ")
	if strings.EqualFold(word, "skip") && strings.TrimSpace(reason) != "" {
		return "skip " + strings.TrimSpace(reason), slices.Contains(q.Answers, skipForm)
	}
	answer = strings.ToLower(answer)
	return answer, answer != strings.ToLower(skipForm) && slices.Contains(q.Answers, answer)
}

// maxAnswer is the longest line that is read, in bytes.
const maxAnswer = 1 << 20

// Answers reads the lines that a person types or a script writes.
type Answers struct{ lines *bufio.Scanner }

// NewAnswers returns the answers on in. It reads nothing before the first question.
func NewAnswers(in io.Reader) *Answers {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxAnswer)
	return &Answers{lines}
}

// Next returns the next line. The error is errWaiting at the end of input and when ctx ends. After
// an error it must not be called again, because a read may still be in progress.
func (a *Answers) Next(ctx context.Context) (string, error) {
	got := make(chan bool, 1)
	go func() { got <- a.lines.Scan() }() // a read of a terminal cannot be cancelled
	select {
	case <-ctx.Done():
		return "", errWaiting
	case ok := <-got:
		if ok {
			return a.lines.Text(), nil
		}
	}
	if err := a.lines.Err(); err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	return "", errWaiting
}
