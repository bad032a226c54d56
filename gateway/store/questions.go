package store

import (
	"context"
	"time"

	"nanobot/channels"
)

// Question is a question of an agent to a person.
type Question struct {
	ID      string
	Inbound int64
	Chat    channels.Chat
	Text    string
	Options []string
	// Within is how long the question accepts answers, 0: without limit. Read from the store, it is
	// the remaining time. Expired says that the time is up.
	Within  time.Duration
	Expired bool
	// Approval says that only the approvers of the asking agent may answer.
	Approval bool
	// OtherText says what a text does that is none of the options.
	OtherText OtherText
	// Commands makes the question a picker: each option stands for the command at the same index,
	// which gets a turn when the option is chosen. A picker is no part of its turn: it stays open
	// when the turn ends.
	Commands []string
	// Secret says that the answer must not stay in the store longer than its turn needs it. The
	// message that answers is received with ReceiveRequest.Secret.
	Secret bool
	Answer *string // nil before it is answered, and after EraseAnswer
	By     string  // the user who answered
	// Closed says that the question accepts no answers, for another reason than time. Newest says
	// that it is the last question of its chat. Outbound is the state of the last part of its
	// message, and Receipt the network's ID of that part, or "".
	Closed, Newest bool
	Outbound       State
	Receipt        string
}

// OtherText is the effect of a text that is none of a question's options.
type OtherText string

// The effects of other texts.
const (
	OtherTextWaits     OtherText = ""          // it waits for its turn, and the question stays open
	OtherTextAnswers   OtherText = "answers"   // every text is an answer as it is written, also the number of an option
	OtherTextDismisses OtherText = "dismisses" // it waits for its turn, and closes the question
)

// IsPicker reports whether the options of the question are commands.
func (q *Question) IsPicker() bool { return len(q.Commands) > 0 }

// Questions stores open and answered questions.
type Questions interface {
	// Ask stores a question and its outbound message, whose Claim is ignored.
	Ask(ctx context.Context, q Question, l Outbound) error
	// EraseAnswer removes the answer to a secret question, so that its bytes are no longer in the
	// files of the store. The question stays closed. The end of an inbound message does the same
	// for all of its questions.
	EraseAnswer(ctx context.Context, id string) error
	// Withdraw closes an open question without an answer, also an expired one. It reports false
	// when there is no such question.
	Withdraw(ctx context.Context, id string) (bool, error)
	// AsksSecret reports whether a message of the bot, by the network's ID, asks for a secret in a
	// chat or did so.
	AsksSecret(ctx context.Context, chat channels.Chat, receipt string) (bool, error)
	// OpenQuestions returns the questions of a chat that wait for an answer and have not expired,
	// oldest first.
	OpenQuestions(ctx context.Context, chat channels.Chat) ([]Question, error)
	// UnansweredQuestions returns the questions of an inbound message, which is one of the chat,
	// that were neither answered nor withdrawn, also expired ones, oldest first. Pickers are not
	// among them.
	UnansweredQuestions(ctx context.Context, chat channels.Chat, inbound int64) ([]Question, error)
	Question(ctx context.Context, id string) (Question, bool, error)
}
