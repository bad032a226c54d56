package terminal

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Question is a question of an agent to the person it works for.
type Question struct {
	// ID is chosen by the agent, which may reuse it even while the first question is open. UniqueID
	// says that it does not: after a restart the question is found by its ID alone, even if its
	// words have changed.
	ID       string
	UniqueID bool
	Text     string
	Options  []string // answers to choose from; none: any text
	// Timeout is how long to wait for an answer; 0: until the turn ends or the gateway's own limit.
	Timeout time.Duration
	// Approval says that the answer permits something. If the agent has a list of approvers, only
	// they may answer.
	Approval bool
	// OtherText says what a text does that is none of the options.
	OtherText OtherText
	// Secret says that the answer is a password, for example. It is shown nowhere and stored only
	// until Ask returns it; its message is deleted from the chat where the network allows that.
	Secret bool
	// Commands, if not nil, has the command that each option stands for, as a person would write
	// it, with the slash. Nobody waits for an answer: Ask returns at once, and the chosen command
	// gets a turn of its own. Any other message or command in the chat closes the question. Ask
	// returns ErrNobodyToAsk if people cannot choose here, so that the options must be shown as
	// text.
	Commands []string
}

// IsPicker reports whether the options of the question are commands.
func (q *Question) IsPicker() bool { return len(q.Commands) > 0 }

// FindOption returns the number of the option that a person has typed, by its number or its text;
// 0: it is none of the options.
func (q *Question) FindOption(said string) int {
	said = strings.TrimSpace(said)
	if n, err := strconv.Atoi(said); err == nil && n >= 1 && n <= len(q.Options) {
		return n
	}
	return slices.IndexFunc(q.Options, func(o string) bool { return strings.EqualFold(o, said) }) + 1
}

// ParseAnswer returns the answer that a person has typed. It reports false if it is none.
func (q *Question) ParseAnswer(said string) (answer string, ok bool) {
	if len(q.Options) == 0 || q.OtherText == OtherTextAnswers {
		return said, strings.TrimSpace(said) != ""
	}
	n := q.FindOption(said)
	if n == 0 {
		return "", false
	}
	return q.Options[n-1], true
}

// OtherText is the effect of a text that is none of a question's options.
type OtherText string

// The effects of other texts.
const (
	// OtherTextWaits leaves the question open. The text gets a turn after this one.
	OtherTextWaits OtherText = ""
	// OtherTextAnswers makes every text an answer as it is written, also the number of an option.
	OtherTextAnswers OtherText = "answers"
	// OtherTextDismisses closes the question: Ask returns a DismissedError. The text gets a turn
	// after this one.
	OtherTextDismisses OtherText = "dismisses"
)

// DismissedError says that a person has written something else instead of an answer.
type DismissedError struct{ By string } // the person's ID

func (e *DismissedError) Error() string { return "the person wrote something else" }

// Answer is a person's answer and the person's ID.
type Answer struct {
	Text, By string
	// Option is the number of the chosen option, from 1; 0: the answer is none of the options.
	Option int
}

// OptionNumber returns the number of an option, from 1; 0: it is none of the options.
func OptionNumber(options []string, text string) int { return slices.Index(options, text) + 1 }

// Injection is a message that a person sent while the agent was running.
type Injection struct {
	Text      string
	Media     []string
	User      *User      // nil: unknown
	ReplyTo   *Quote     // nil: it is no reply
	Forwarded *Forwarded // nil: it was not forwarded
	// MarkRead, if not nil, records that the agent has worked on the message, so that the message
	// gets no turn of its own, even after a crash. Such a message no longer counts in
	// Outcome.Unread. A protocol that calls it does so for every message that the agent has read.
	MarkRead func()
	// MarkWaiting, if not nil, tells the sender that the message waits for a turn of its own,
	// because the agent does not accept it.
	MarkWaiting func()
}

// ErrNoAnswer says that nobody has answered a question in time.
var ErrNoAnswer = errors.New("timeout")

// ErrNobodyToAsk says that this turn has no person to ask.
var ErrNobodyToAsk = errors.New("there is nobody to ask")

// ErrDoneElsewhere is the cause with which a protocol withdraws a question that was settled outside
// of the chat.
var ErrDoneElsewhere = errors.New("settled outside of the chat")

// Ask cleans a question and passes it on. The timeout of the turn is paused until the answer.
func (t *turn) Ask(ctx context.Context, q Question) (Answer, error) {
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
	if q.IsPicker() {
		q.Commands = slices.Clone(q.Commands)
		for i, c := range q.Commands {
			q.Commands[i] = Clean(c)
		}
		return t.Chat.Ask(ctx, q)
	}
	defer t.pause()() // the time that a person takes is not the agent's
	a, err := t.Chat.Ask(ctx, q)
	if err == nil {
		if a.Option == 0 {
			a.Option = OptionNumber(q.Options, a.Text)
		}
		t.mu.Lock()
		t.answers = append(t.answers, a.Text)
		t.mu.Unlock()
	}
	return a, err
}

// personTexts returns all texts of the person that the agent may know.
func (t *turn) personTexts() []string {
	texts := []string{t.req.Text}
	if u := t.req.User; u != nil { // people choose their names freely
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
	texts = append(texts, t.PersonTexts()...)
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(texts, t.answers...)
}
