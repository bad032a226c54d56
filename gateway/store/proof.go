package store

import (
	"context"
	"time"

	"nanobot/channels"
)

// The reasons for which a message gets no turn, besides those of package events. They are stored
// as the status of the message.
const (
	ByCommand   = "command"      // it is a command, or the button of one, and was carried out
	ByAnswer    = "answer"       // it answers a question
	ByLateReply = "late"         // its button or its question is no longer open
	ByUnclear   = "unclear"      // it could answer more than one question
	ByRole      = "role"         // the role of its sender does not include it
	ByRead      = "read"         // the turn of an earlier message has read it
	ByCancel    = "cancelled"    // a person has cancelled it before its turn
	ByEdit      = "edited"       // it is the new content of a message that had a turn
	BySend      = "sent"         // it is a message to its chat, which a script has sent
	ByRefusal   = "not_admitted" // its sender has no access
	Undelivered = "undelivered"  // its turn has ended, and its answer has failed or is unknown
)

// ProofRequest says what Prove examines.
type ProofRequest struct {
	Since time.Duration // only messages and sends of this time until now
	// Due is the age at which something unfinished is no longer normal. A message is as old as it
	// waits, or as the running turn of its chat, or as the last answer to that.
	Due time.Duration
	// Kept is the Count of the Retention. If there are so many, the proof begins with the oldest.
	Kept int
}

// Proof says what became of each message and of each send. In is Answered, Reasons and the messages
// in Open together; Sends is Receipts, Marked and the sends in Open.
type Proof struct {
	Since    time.Time
	In       int
	Answered int // those with a turn, whose answer was sent
	// Reasons are messages without an answer by their reason: the status of a message that got no
	// turn or needed no answer, or the state of one that is not due yet.
	Reasons  map[string]int
	Sends    int // those that are due or have ended
	Receipts int // those that the network has confirmed
	Marked   int // those that are recorded as failed, unknown or left out
	NotDue   int // sends that are not counted yet
	Open     []Unexplained
}

// Unexplained is a message without an answer or a reason, or a send without a receipt or a mark.
type Unexplained struct {
	Send    bool // it is a send, not a message
	ID      int64
	Chat    channels.Chat
	Age     time.Duration
	State   State
	Problem Problem
}

// Problem is why something is unexplained.
type Problem string

// The problems.
const (
	NoReason   Problem = "no_reason"    // a message was settled without a turn and without a reason
	NoAnswer   Problem = "no_answer"    // a turn has ended, or a script has sent, and no send is stored
	AnswerLost Problem = "answer_lost"  // the transcript has an answer whose send is missing
	Overdue    Problem = "overdue"      // unfinished for longer than normal
	NoReceipt  Problem = "no_receipt"   // sent, without the network's ID and without a reason
	InLost     Problem = "message_lost" // a send answers a message that is missing
)

// Prover accounts for all messages and sends.
type Prover interface {
	// Prove reads the rows of the given time, and no others.
	Prove(ctx context.Context, request ProofRequest) (Proof, error)
}
