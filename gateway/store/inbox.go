package store

import (
	"context"
	"time"

	"nanobot/channels"
)

// State is the state of an inbound message or of a delivery.
type State string

// An inbound message goes from pending to running, and ends as done, interrupted or dead. A
// delivery goes from pending to sending, and ends as sent, failed or unknown.
const (
	Pending     State = "pending"
	Running     State = "running"
	Done        State = "done"
	Interrupted State = "interrupted" // was running when the gateway died
	Dead        State = "dead"        // cancelled before it ran
	Sending     State = "sending"
	Sent        State = "sent"
	Failed      State = "failed"
	Unknown     State = "unknown" // may or may not have been carried out
)

// Inbound is an incoming message in the store, with its state and its turn.
type Inbound struct {
	ID       int64
	In       channels.Incoming
	Agent    string // that answers it
	State    State
	Attempt  int // 1 for the first run
	Received time.Time
	Started  time.Time // zero before it runs
	Ended    time.Time // zero before it has ended
	Outcome  Outcome
	// NotBefore is set if the message is pending and waits for further messages of its sender until
	// then.
	NotBefore time.Time
	// Owner is the member that has claimed it; "" unless it is running.
	Owner   string
	Process Process
	// Token, Conversation and Asks are the chat's token, its ConversationMemory, and whether it has
	// open questions, if the returning call has claimed the message; zero otherwise.
	Token, Conversation string
	Asks                bool
}

// Transient is a message on the network that exists only while a turn runs, such as its board.
type Transient struct {
	Chat    channels.Chat
	ID      string // the network's
	Inbound int64
	Board   bool // it is the turn's board; the one that was recorded last counts
	// Incoming says that a person has sent the message, which is Inbound. It contains a secret.
	Incoming bool
}

// Outcome is how a turn ended. The values are those of package terminal.
type Outcome struct {
	Status   string
	ExitCode int
	Signal   string
	// Memory is the peak in bytes, 0 if unknown; CPU is the processor time in microseconds'
	// precision.
	Memory int64
	CPU    time.Duration
	// Agent is the agent that ran the turn instead of the chosen one; "": the chosen one.
	Agent string
	// Trace, if not "", is stored for Views.Trace. An Inbound does not contain it.
	Trace string
	// Keeps says that the member keeps an agent or commands of the chat.
	Keeps bool
	// Fold is what stays of the turn's board; nil: nothing. It is pending until EndFold.
	Fold *Fold
	// Usage, if not nil, is added to the ledger for the person, the chat and the agent of the turn.
	Usage *TurnUsage
}

// Process identifies an agent's process, so that a later gateway can tell whether its pid was
// reused.
type Process struct {
	Pid   int    // -1: it was about to be started
	Start string // a time of the kernel's clock at which Pid was this process; "": there is no process
}

// Disposition says what Receive did with a message.
type Disposition int

// The dispositions.
const (
	Duplicate Disposition = iota // received before; only the cursor was changed
	Queued                       // waits for its turn
	Claimed                      // already running: the caller must run it
	Settled                      // stored as done, with its answer
	Busy                         // not stored: the chat has a running turn, and NotWhileRunning was set
	Full                         // not stored: QueueLimit or OriginLimit is reached
	Joined                       // added to a pending message of the same person, which Inbound is now
)

// ReceiveResult is the result of Receive.
type ReceiveResult struct {
	Inbound     Inbound
	Disposition Disposition
	// Running is the chat's inbound message that was running when this one was received, or 0, and
	// Runner the member that runs it. Waiting is the number of the chat's messages that get their
	// turn before this one, and this one if it was Queued. All three are unset for a Duplicate and
	// a Settled message.
	Running int64
	Runner  string
	Waiting int
	// Replied says that Reply was the first answer to its question.
	Replied bool
	// Secrets are the messages on the network that are to be deleted, see ReceiveRequest.Secret.
	Secrets []Transient
	// Released says that a pending message no longer waits for further messages, because of this
	// one.
	Released bool
}

// DefaultAgent is the agent of inbound messages for which no other agent is set.
const DefaultAgent = "default"

// ReceiveRequest is an incoming message for Receive.
type ReceiveRequest struct {
	In channels.Incoming
	// Agent is the agent that answers the message; "" is DefaultAgent.
	Agent string
	// Key, if not "", is compared instead of In.ID: the same chat and Key again is a Duplicate.
	Key string
	// OriginLimit says when the message is not stored: while this many messages of its origin have
	// an unfinished turn, or are to be sent to its chat, if it is not 0.
	OriginLimit int
	// Occurrences are stored in the same transaction, the last one with the message. If that one is
	// stored already, the message is a Duplicate.
	Occurrences []Occurrence
	// Entry, if not nil, is added to the transcript of a message that is settled, whose Answer is
	// one outbound message.
	Entry *Entry
	// Cursor, if not "", is stored for the channel with the message, or shortly after it, but never
	// before it.
	Cursor string
	// Claim asks to run the message at once, which is granted if nothing of its chat is pending or
	// running.
	Claim bool
	// NotWhileRunning and QueueLimit say when the message is not stored: while its chat has a
	// running turn; while QueueLimit messages of its chat wait that go before it, if it is not 0.
	NotWhileRunning bool
	QueueLimit      int
	// Gather is how long the message waits for further messages of the same person before it can be
	// claimed; 0: not at all. A message with Gather for the same agent and place that arrives
	// meanwhile is Joined to it, and the wait begins again; it lasts at most MaxGather altogether.
	// Any other message of the person ends the wait.
	Gather time.Duration
	// Follows, if not 0, says that the message belongs to the text that the same person wrote
	// before it, and is Joined to it if that is pending and was received within this time.
	Follows time.Duration
	// FollowsAgent says that the message then goes to the agent and the place of that text,
	// whatever its own are. Otherwise these must be the same.
	FollowsAgent bool
	// Settle stores the message as done, without a turn. Answer is stored in the outbox in the same
	// transaction, also for a message that gets a turn.
	Settle bool
	Answer []channels.Outgoing
	// Reason is why a message that is settled needs no turn. It is stored as its status.
	Reason string
	// Secret says that the text is a secret. The message is settled and stored without its text,
	// and its messages on the network are recorded as Transients with Incoming, which are to be
	// deleted. A Reply stores the text as the answer. Later messages that quote the text are stored
	// without the quote.
	Secret bool
	// Reply settles the message if it is the first answer to an open question. Otherwise it has no
	// effect.
	Reply *Reply
	// Restart (of an inbound message), Cancel (of all pending messages), StartConversation (of the
	// chat) and Remember (of a memory; without a key: none) have the effects of the methods of the
	// same name. Stop sets the status of a running inbound message to stopped until it is finished;
	// Cancel implies that. Drop cancels one inbound message, or stops it if it is running. Resend
	// makes a failed delivery of the chat pending again. They are part of the same transaction, so
	// that they are neither lost nor repeated. Impossible ones are skipped.
	Restart           int64
	Resend            int64
	Stop              int64
	Drop              int64
	Cancel            bool
	StartConversation bool
	Remember          Memory
}

// ClaimRequest says what Claim may claim.
type ClaimRequest struct {
	Limit int
	// ExceptAgents and ExceptChannels are the agents and channels whose messages wait for another
	// member.
	ExceptAgents, ExceptChannels []string
}

// MaxGather is the longest time that a message waits for further messages.
const MaxGather = time.Minute

// MaxGatherUnits is how many UTF-16 units the text of joined messages may have.
const MaxGatherUnits = 40_000

// Memory is a memory of a chat.
type Memory struct{ Key, Value string }

// Reply is an answer to the question with the given ID.
type Reply struct {
	Question, Text, By string
	// Turn says that the message is not settled, but gets a turn, as that of a chosen command or of
	// a run that continues. If the message is stored, the question is answered in the same
	// transaction, so that the turn cannot close it first.
	Turn bool
}

// Inbox stores the received messages.
type Inbox interface {
	// Cursor returns the stored cursor of a channel, or "".
	Cursor(ctx context.Context, channel string) (string, error)
	// SetCursor moves a cursor past updates that are not messages. All messages before it are
	// stored.
	SetCursor(ctx context.Context, channel, cursor string) error
	// Receive stores an inbound message once: the same chat and message ID again is a Duplicate,
	// with the earlier inbound message unless that was pruned. A message without an ID is never a
	// duplicate.
	Receive(ctx context.Context, a ReceiveRequest) (ReceiveResult, error)
	// Claim marks pending inbound messages as running and increments their attempts: the first of
	// each chat, for up to Limit chats in the order in which they wait for a turn. A person's
	// messages, and those that run again, are before those that nobody has typed; the oldest is
	// first. Chats with a running inbound message are skipped, and chats whose first one waits for
	// further messages or for another member.
	// It returns none when there is nothing to run.
	Claim(ctx context.Context, c ClaimRequest) ([]Inbound, error)
	// NextClaim returns how long it takes until a message that Claim may return has waited long
	// enough for further messages. It reports false if none waits.
	NextClaim(ctx context.Context, c ClaimRequest) (time.Duration, bool, error)
	// Finish ends a running inbound message as Done, Interrupted or Dead, closes its questions
	// except pickers, and removes its process record. The pending inbound messages in with end
	// together with it. A chat with more pending messages goes to the end of the line, and next is
	// true.
	Finish(ctx context.Context, id int64, state State, out Outcome, with ...int64) (next bool, err error)
	// Restart makes an interrupted or done inbound message pending again, ahead of the others of
	// its chat. The questions and messages of a done turn are then sent again, since the person
	// asked for them.
	Restart(ctx context.Context, id int64) error
	// Requeue is Restart for an inbound message that a dead gateway left running. Messages that
	// were sent are not sent again. With unbegun, the attempt does not count.
	Requeue(ctx context.Context, id int64, unbegun bool) error
	// Cancel marks pending inbound messages of a chat as dead, all of them or the one with the
	// given ID, and returns their number. If all are cancelled, the status of the running one is
	// stopped until it is finished.
	Cancel(ctx context.Context, chat channels.Chat, id int64) (int, error)
	// MarkStopped sets the status of a running inbound message to stopped until it is finished, so
	// that it does not run again after a crash.
	MarkStopped(ctx context.Context, chat channels.Chat, id int64) error
	// Queue returns up to n pending inbound messages of a chat, in the order of their turns.
	Queue(ctx context.Context, chat channels.Chat, n int) ([]Inbound, error)
	// SettlePending ends a pending inbound message as Done without a turn, because the running turn
	// of its chat has read it.
	SettlePending(ctx context.Context, id int64) error
	// EraseText has the effects of ReceiveRequest.Secret on a message that was stored with its
	// text. It returns the messages on the network, which are to be deleted.
	EraseText(ctx context.Context, id int64) ([]Transient, error)
	// SetProcess and AddTransient record what must be cleaned up after a crash. SetProcess does not
	// wait for the disk, since processes do not outlive the machine. Inbound message 0 is the
	// gateway itself. A transient message belongs to the member that has recorded it.
	SetProcess(id int64, p Process) error
	AddTransient(ctx context.Context, b Transient) error
	// DropTransient removes the record of a transient message. A transient message that an outbound
	// message replaces loses its record when that is stored.
	DropTransient(ctx context.Context, b Transient) error
	Transients(ctx context.Context) ([]Transient, error)
	// Running returns the inbound message of a chat that is running, with the member that runs it.
	Running(ctx context.Context, chat channels.Chat) (Inbound, bool, error)
	// Inbound returns one inbound message.
	Inbound(ctx context.Context, id int64) (Inbound, bool, error)
	// Recent returns the last inbound messages of a chat, newest first, without those that nobody
	// has typed and that ended without a turn, such as what scripts send. CountPending counts the
	// pending ones of a chat, or of all chats for the zero Chat.
	Recent(ctx context.Context, chat channels.Chat, n int) ([]Inbound, error)
	CountPending(ctx context.Context, chat channels.Chat) (int, error)
}
