package terminal

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Question is what an agent asks the person it works for.
type Question struct {
	// ID is the agent's name for it. An agent may use one again, even while the first is open.
	ID      string
	Text    string
	Options []string // answers to choose from; none: any text
	// Timeout is how long an answer is waited for; 0: as long as the turn lasts and the gateway
	// cares.
	Timeout time.Duration
	// Approval says that the answer permits something, so that only the agent's approvers may give
	// it where there is a list of them.
	Approval bool
}

// Answer is what a person says to a question, and who it was.
type Answer struct{ Text, By string }

// Ask puts a question to the person and returns the answer. It is called from goroutines of its
// own, several at a time. An error means that nobody answered in time or that the turn ends; when
// ctx ends it must return.
type Ask func(ctx context.Context, q Question) (Answer, error)

// Injection is a message that the person wrote while the agent was at work.
type Injection struct {
	Text  string
	Media []string
}

// ErrNobodyToAsk says that this turn has no person to ask.
var ErrNobodyToAsk = errors.New("nobody is there to be asked")

// ask makes a question fit for a chat and passes it on.
func (t *turn) ask(ctx context.Context, q Question) (Answer, error) {
	if t.req.Ask == nil {
		return Answer{}, ErrNobodyToAsk
	}
	if q.Text = Clean(q.Text); strings.TrimSpace(q.Text) == "" {
		q.Text = "?" // no network shows a message without text
	}
	var options []string
	for _, o := range q.Options {
		if o = strings.TrimSpace(Clean(o)); o != "" {
			options = append(options, o)
		}
	}
	q.Options = options
	a, err := t.req.Ask(ctx, q)
	if err == nil {
		t.mu.Lock()
		t.answers = append(t.answers, a.Text)
		t.mu.Unlock()
	}
	return a, err
}

// texts are all that the person wrote and the agent may know.
func (t *turn) texts() []string {
	texts := []string{t.req.Text}
	if u := t.req.User; u != nil { // people choose their names
		texts = append(texts, u.Name, u.Username, u.ID)
	}
	if q := t.req.ReplyTo; q != nil {
		texts = append(texts, q.Text)
	}
	for _, h := range t.req.History {
		if h.Role != "agent" {
			texts = append(texts, h.Text)
		}
	}
	if t.req.PersonTexts != nil {
		texts = append(texts, t.req.PersonTexts()...)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(texts, t.answers...)
}
