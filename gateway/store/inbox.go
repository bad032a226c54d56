package store

import (
	"context"
	"time"

	"nanobot/channels"
)

// State is where an item or a parcel is on its way.
type State string

// The states of an item: pending → running → done | interrupted | dead; and of a parcel: pending →
// sending → sent | failed | unknown.
const (
	Pending     State = "pending"
	Running     State = "running"
	Done        State = "done"
	Interrupted State = "interrupted" // was running when the gateway died
	Dead        State = "dead"        // given up or cancelled before it ran
	Sending     State = "sending"
	Sent        State = "sent"
	Failed      State = "failed"
	Unknown     State = "unknown" // may or may not have been carried out
)

// Item is one incoming message and what became of it.
type Item struct {
	ID       int64
	In       channels.Incoming
	State    State
	Attempt  int // 1 for the first run
	Received time.Time
	Started  time.Time // zero until it runs
	Ended    time.Time // zero until it has ended
	Outcome  Outcome
	Process  Process
}

// Bubble is a message on the network that is there only while a turn runs, such as its progress.
type Bubble struct {
	Chat channels.Chat
	ID   string // the network's
	Item int64
}

// Outcome is how a turn ended, in the words of the terminal.
type Outcome struct {
	Status   string
	ExitCode int
	Signal   string
	// Memory is the peak in bytes, 0 if it is not known; CPU the processor time, to the
	// microsecond.
	Memory int64
	CPU    time.Duration
	// Trace, if not "", is kept for Views.Trace. It is no part of an Item.
	Trace string
}

// Process names an agent's process so that a later gateway can tell whether it still is the same.
type Process struct {
	Pid   int    // -1 when it was about to be started
	Start string // a moment by the kernel's clock at which Pid was this process; "" when there is none
}

// Verdict says what became of an arrival.
type Verdict int

// The verdicts.
const (
	Duplicate Verdict = iota // seen before; nothing was changed but the cursor
	Queued                   // waits for its turn
	Claimed                  // is running already: the caller must run it
	Settled                  // was stored as done, with its answer
)

// Arrival is an incoming message at the door.
type Arrival struct {
	In channels.Incoming
	// Cursor, if not "", is stored for the channel in the same step.
	Cursor string
	// Claim asks to run it at once, which is granted if nothing of its chat is pending or running.
	Claim bool
	// Settle stores it as done without a turn, and Answer goes to the outbox in the same step.
	Settle bool
	Answer []channels.Outgoing
	// Reply, if it is the first to an open question, settles the message. Otherwise that is as any
	// other.
	Reply *Reply
	// What the message asks for, done in the same step, so that it is neither forgotten nor done
	// twice: Restart (of an item), Cancel (of all that is pending) and StartAfresh (of the chat) as
	// the methods of that name do. What is not possible is left undone.
	Restart     int64
	Cancel      bool
	StartAfresh bool
}

// Reply is what somebody answers to the question with an id.
type Reply struct{ Question, Text, By string }

// Inbox is what was received.
type Inbox interface {
	// Cursor returns what was last stored for a channel, or "".
	Cursor(ctx context.Context, channel string) (string, error)
	// SetCursor moves a cursor past what is no message.
	SetCursor(ctx context.Context, channel, cursor string) error
	// Receive stores an arrival once: the same chat and message id again is a Duplicate, with the
	// item that was made of it unless that was pruned. A message without an id is never a
	// duplicate.
	Receive(ctx context.Context, a Arrival) (Item, Verdict, error)
	// Claim takes the oldest pending item of the chat that has waited longest for a turn and marks
	// it running, its attempt raised. A chat with a running item is passed over. It reports false
	// when there is nothing to run.
	Claim(ctx context.Context) (Item, bool, error)
	// Finish ends a running item as Done, Interrupted or Dead, closes its questions, and forgets
	// its process. Pending items of the chat that were worked on with it end with it. A chat with
	// more pending items goes to the end of the line; next says so.
	Finish(ctx context.Context, id int64, state State, out Outcome, with ...int64) (next bool, err error)
	// Restart makes an interrupted or done item pending again, ahead of the others of its chat.
	// What a done item had asked and sent does not count as said by an earlier attempt: who wants a
	// finished turn again wants to hear all of it again.
	Restart(ctx context.Context, id int64) error
	// Requeue is Restart for an item that a dead gateway left running. What was sent counts. With
	// unbegun its attempt does not.
	Requeue(ctx context.Context, id int64, unbegun bool) error
	// Cancel marks pending items of a chat dead, all of them or the one with the given id, and says
	// how many. When it is all of them, the status of the running one becomes stopped until it is
	// finished.
	Cancel(ctx context.Context, chat channels.Chat, id int64) (int, error)
	// SetProcess and AddBubble note what must be cleaned up if we die. SetProcess is quick, because
	// it does not wait for the disk: a process does not outlive the machine. Item 0 is the gateway
	// itself.
	SetProcess(id int64, p Process) error
	AddBubble(ctx context.Context, b Bubble) error
	// DropBubble forgets a bubble that is gone. One whose place a part of a letter takes is
	// forgotten when that is stored.
	DropBubble(ctx context.Context, b Bubble) error
	Bubbles(ctx context.Context) ([]Bubble, error)
	// Item returns one item. Stranded returns the items that are marked running, which after a
	// start is what a dead gateway left, with their processes: for one without, with the Start of
	// the gateway that left it.
	Item(ctx context.Context, id int64) (Item, bool, error)
	Stranded(ctx context.Context) ([]Item, error)
	// Recent returns the last items of a chat, newest first. Waiting counts the pending ones of a
	// chat, or of all for the zero Chat.
	Recent(ctx context.Context, chat channels.Chat, n int) ([]Item, error)
	Waiting(ctx context.Context, chat channels.Chat) (int, error)
}
