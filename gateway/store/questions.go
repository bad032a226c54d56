package store

import (
	"context"

	"nanobot/channels"
	"nanobot/terminal"
)

// Question is a question to a person in a chat. Its ID is unique. Read from the store, its Timeout
// is the remaining time; 0: it has no limit, or has Expired. A picker is no part of its turn: it
// stays open when the turn ends. The message that answers a Secret question is received with
// ReceiveRequest.Secret.
type Question struct {
	terminal.Question
	Inbound int64
	Chat    channels.Chat
	Expired bool
	Answer  *string // nil before it is answered, and after EraseAnswer
	By      string  // the user who answered
	// Closed says that the question accepts no answers, for another reason than time. Newest says
	// that it is the last question of its chat. Outbound is the state of the last part of its
	// message, and Receipt the network's ID of that part, or "".
	Closed, Newest bool
	Outbound       State
	Receipt        string
}

// ChatState is what decides about the messages of a chat.
type ChatState struct {
	Questions []Question        // as OpenQuestions returns them
	Memories  map[string]string // by their keys; those without a value are missing
	// Kept says that a message of a person is ErrKept for this member, and Forwarded that messages
	// of the chat which were forwarded are still to be received, by this member or another.
	Kept, Forwarded bool
}

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
	// ReadChat returns the open questions of a chat together with some of its memories, and who is
	// to receive its messages.
	ReadChat(ctx context.Context, chat channels.Chat, memories ...string) (ChatState, error)
	// UnansweredQuestions returns the questions of an inbound message, which is one of the chat,
	// that were neither answered nor withdrawn, also expired ones, oldest first. Pickers are not
	// among them.
	UnansweredQuestions(ctx context.Context, chat channels.Chat, inbound int64) ([]Question, error)
	Question(ctx context.Context, id string) (Question, bool, error)
}
