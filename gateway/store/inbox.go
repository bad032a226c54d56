package store

import (
	"context"
	"time"

	"nanobot/channels"
)

// State is where an inbound message or a delivery is on its way.
type State string

// The states of an inbound message: pending → running → done | interrupted | dead; and of a
// delivery: pending → sending → sent | failed | unknown.
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

// Inbound is one incoming message and what became of it.
type Inbound struct {
	ID       int64
	In       channels.Incoming
	Agent    string // that answers it
	State    State
	Attempt  int // 1 for the first run
	Received time.Time
	Started  time.Time // zero until it runs
	Ended    time.Time // zero until it has ended
	Outcome  Outcome
	// Owner is the member that has claimed it; "" unless it is running.
	Owner   string
	Process Process
	// Token is the chat's, where it was claimed by the call that returns it; "" otherwise.
	Token string
}

// Transient is a message on the network that is there only while a turn runs, such as its progress.
type Transient struct {
	Chat    channels.Chat
	ID      string // the network's
	Inbound int64
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
	// Agent is the agent that ran the turn, in the place of the one that the message was received
	// for; "": that one.
	Agent string
	// Trace, if not "", is kept for Views.Trace. It is no part of an Inbound message.
	Trace string
}

// Process names an agent's process so that a later gateway can tell whether it still is the same.
type Process struct {
	Pid   int    // -1 when it was about to be started
	Start string // a moment by the kernel's clock at which Pid was this process; "" when there is none
}

// Disposition says what became of a message that was received.
type Disposition int

// The dispositions.
const (
	Duplicate Disposition = iota // seen before; nothing was changed but the cursor
	Queued                       // waits for its turn
	Claimed                      // is running already: the caller must run it
	Settled                      // was stored as done, with its answer
	Busy                         // not stored: a turn of the chat runs, and NotWhileRunning was set
	Full                         // not stored: as many messages of the chat wait as QueueLimit allows
)

// ReceiveResult is what became of a message that was received, and who runs its chat.
type ReceiveResult struct {
	Inbound     Inbound
	Disposition Disposition
	// Running is the inbound message of the chat that was running when this one was received, or 0,
	// and Runner the member that runs it. Waiting counts the messages of the chat that wait for a
	// turn, with this one if it was Queued. They are not set for a Duplicate, nor for a message
	// that is Settled.
	Running int64
	Runner  string
	Waiting int
}

// DefaultAgent is the agent of an inbound message for which no other one was named.
const DefaultAgent = "default"

// ReceiveRequest is an incoming message at the door.
type ReceiveRequest struct {
	In channels.Incoming
	// Agent is the agent that answers the message; "" is DefaultAgent.
	Agent string
	// Cursor, if not "", is stored for the channel in the same step.
	Cursor string
	// Claim asks to run it at once, which is granted if nothing of its chat is pending or running.
	Claim bool
	// NotWhileRunning and QueueLimit say when the message is not stored: while a turn of its chat
	// runs; while that many messages of its chat wait, if it is not 0.
	NotWhileRunning bool
	QueueLimit      int
	// Settle stores it as done without a turn. Answer goes to the outbox in the same step, also of
	// a message that gets a turn.
	Settle bool
	Answer []channels.Outgoing
	// Reply, if it is the first to an open question, settles the message. Otherwise that is as any
	// other.
	Reply *Reply
	// What the message asks for, done in the same step, so that it is neither forgotten nor done
	// twice: Restart (of an inbound message), Cancel (of all that is pending), StartAfresh (of the
	// chat) and Remember (a memory of the chat; the key "" is none) as the methods of that name do.
	// What is not possible is left undone.
	Restart     int64
	Cancel      bool
	StartAfresh bool
	Remember    Memory
}

// Memory is one of the Memories of a chat.
type Memory struct{ Key, Value string }

// Reply is what somebody answers to the question with an id.
type Reply struct{ Question, Text, By string }

// Inbox is what was received.
type Inbox interface {
	// Cursor returns what was last stored for a channel, or "".
	Cursor(ctx context.Context, channel string) (string, error)
	// SetCursor moves a cursor past what is no message.
	SetCursor(ctx context.Context, channel, cursor string) error
	// Receive stores an inbound message once: the same chat and message id again is a Duplicate,
	// with the inbound message that was made of it unless that was pruned. A message without an id
	// is never a duplicate.
	Receive(ctx context.Context, a ReceiveRequest) (ReceiveResult, error)
	// Claim takes the oldest pending inbound message of each chat that has waited longest for a
	// turn, of up to most chats, and marks it running, its attempt raised. A chat with a running
	// inbound message is passed over. It returns none when there is nothing to run.
	Claim(ctx context.Context, most int) ([]Inbound, error)
	// Finish ends a running inbound message as Done, Interrupted or Dead, closes its questions, and
	// forgets its process. Pending inbound messages of the chat that were worked on with it end
	// with it. A chat with more pending inbound messages goes to the end of the line; next says so.
	Finish(ctx context.Context, id int64, state State, out Outcome, with ...int64) (next bool, err error)
	// Restart makes an interrupted or done inbound message pending again, ahead of the others of
	// its chat. What a done inbound message had asked and sent does not count as said by an earlier
	// attempt: who wants a finished turn again wants to hear all of it again.
	Restart(ctx context.Context, id int64) error
	// Requeue is Restart for an inbound message that a dead gateway left running. What was sent
	// counts. With unbegun its attempt does not.
	Requeue(ctx context.Context, id int64, unbegun bool) error
	// Cancel marks pending inbound messages of a chat dead, all of them or the one with the given
	// id, and says how many. When it is all of them, the status of the running one becomes stopped
	// until it is finished.
	Cancel(ctx context.Context, chat channels.Chat, id int64) (int, error)
	// Queue returns up to n pending inbound messages of a chat, in the order of their turns.
	Queue(ctx context.Context, chat channels.Chat, n int) ([]Inbound, error)
	// SettlePending ends a pending inbound message as Done without a turn of its own: the turn that
	// runs in its chat has read it.
	SettlePending(ctx context.Context, id int64) error
	// SetProcess and AddTransient note what must be cleaned up if we die. SetProcess is quick,
	// because it does not wait for the disk: a process does not outlive the machine. Inbound
	// message 0 is the gateway itself.
	SetProcess(id int64, p Process) error
	AddTransient(ctx context.Context, b Transient) error
	// DropTransient forgets a transient message that is gone. One whose place a part of an outbound
	// message takes is forgotten when that is stored.
	DropTransient(ctx context.Context, b Transient) error
	Transients(ctx context.Context) ([]Transient, error)
	// Inbound returns one inbound message.
	Inbound(ctx context.Context, id int64) (Inbound, bool, error)
	// Recent returns the last inbound messages of a chat, newest first. Waiting counts the pending
	// ones of a chat, or of all for the zero Chat.
	Recent(ctx context.Context, chat channels.Chat, n int) ([]Inbound, error)
	Waiting(ctx context.Context, chat channels.Chat) (int, error)
}
