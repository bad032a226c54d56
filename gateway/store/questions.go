package store

import (
	"context"
	"time"

	"nanobot/channels"
)

// Question is something the agent asked the person.
type Question struct {
	ID      string
	Inbound int64
	Chat    channels.Chat
	Text    string
	Options []string
	// Within is how long it takes answers, 0 for ever; as it is read from the store, what is left
	// of that. Expired says that the time is up.
	Within  time.Duration
	Expired bool
	// Approval says that only the approvers of the agent that asks may answer.
	Approval bool
	Answer   *string // nil until it is answered
	By       string  // who answered
	// What the store knows of it: whether it takes no answer any more, for whatever reason but
	// time; whether none was asked in its chat since; and what became of the last part of its
	// outbound message, with the network's id of that, or "".
	Closed, Newest bool
	Outbound       State
	Receipt        string
}

// Questions are open and answered questions.
type Questions interface {
	// Ask stores a question and the outbound message that carries it. The outbound message's Claim
	// is ignored.
	Ask(ctx context.Context, q Question, l Outbound) error
	// Answer records the first answer. It reports false when there is no such open question, or it
	// has expired.
	Answer(ctx context.Context, id, answer, by string) (bool, error)
	// Withdraw closes an open question without an answer, also one that has expired. It reports
	// false when there is no such one.
	Withdraw(ctx context.Context, id string) (bool, error)
	// OpenQuestions returns the questions of a chat that wait for an answer and have not expired,
	// oldest first.
	OpenQuestions(ctx context.Context, chat channels.Chat) ([]Question, error)
	Question(ctx context.Context, id string) (Question, bool, error)
}
