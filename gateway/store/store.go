// Package store is the contract of what the gateway keeps on disk: the inbox, the outbox, cursors, transcripts, memories, access,
// questions and the spool of files on their way out. Every method that changes something returns once the change is durable.
// It knows nothing of agents or networks. The engines are in folders of their own.
package store

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"nanobot/channels"
	"nanobot/internal/sparse"
)

// ErrLocked says that another daemon works on the same state.
var ErrLocked = errors.New("another nanobot is running on this state")

// ErrUnusable says that a store cannot be worked with any more: it was removed, replaced or damaged.
var ErrUnusable = errors.New("the state cannot be used any more")

// ErrState says that a change asked for is not possible: there is no such row, or it is not in a state to be changed so.
var ErrState = errors.New("not in a state for that")

// ErrFull says that a change was refused because the disk takes no more. The store works again when there is room.
var ErrFull = errors.New("the disk of the state is full")

// ErrUnavailable says that the spool cannot take a file now, but may later: its disk is full, read-only or fails, or the process lacks
// file descriptors or memory.
var ErrUnavailable = errors.New("the spool takes no files now")

// ErrTooLarge says that a file is larger than was allowed, and ErrNoRoom that it would leave too little room on the disk.
var (
	ErrTooLarge = errors.New("the file is too large")
	ErrNoRoom   = sparse.ErrNoRoom
)

// ErrChanged says that a file was changed before or while it was copied into the spool.
var ErrChanged = errors.New("it changed before it was copied")

// Store is an engine. Its methods may be called from many goroutines.
type Store interface {
	Inbox
	Outbox
	Transcripts
	Memories
	Access
	Questions
	Spool
	Views
	// Prune removes finished rows beyond the retention, and files that nothing refers to any more.
	Prune(ctx context.Context, keep Retention) error
	Close() error
}

// Retention says which finished rows are kept: those younger than Age, and at most Count of each table; 0 is no limit. That a
// message was received is remembered for longer, and what an unfinished or interrupted item has sent is kept with it.
type Retention struct {
	Age   time.Duration
	Count int
}

// State is where an item or a parcel is on its way.
type State string

// The states of an item: pending → running → done | interrupted | dead; and of a parcel: pending → sending → sent | failed | unknown.
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
	// Memory is the peak in bytes, 0 if it is not known; CPU the processor time, to the microsecond.
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
	// Reply, if it is the first to an open question, settles the message. Otherwise that is as any other.
	Reply *Reply
	// What the message asks for, done in the same step, so that it is neither forgotten nor done twice: Restart (of an item), Cancel
	// (of all that is pending) and StartAfresh (of the chat) as the methods of that name do. What is not possible is left undone.
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
	// Receive stores an arrival once: the same chat and message id again is a Duplicate, with the item that was made of it unless
	// that was pruned. A message without an id is never a duplicate.
	Receive(ctx context.Context, a Arrival) (Item, Verdict, error)
	// Claim takes the oldest pending item of the chat that has waited longest for a turn and marks it running, its attempt raised. A
	// chat with a running item is passed over. It reports false when there is nothing to run.
	Claim(ctx context.Context) (Item, bool, error)
	// Finish ends a running item as Done, Interrupted or Dead, closes its questions, and forgets its process. Pending items of
	// the chat that were worked on with it end with it. A chat with more pending items goes to the end of the line; next says so.
	Finish(ctx context.Context, id int64, state State, out Outcome, with ...int64) (next bool, err error)
	// Restart makes an interrupted or done item pending again, ahead of the others of its chat. What a done item had asked and sent
	// does not count as said by an earlier attempt: who wants a finished turn again wants to hear all of it again.
	Restart(ctx context.Context, id int64) error
	// Requeue is Restart for an item that a dead gateway left running. What was sent counts. With unbegun its attempt does not.
	Requeue(ctx context.Context, id int64, unbegun bool) error
	// Cancel marks pending items of a chat dead, all of them or the one with the given id, and says how many. When it is all of them,
	// the status of the running one becomes stopped until it is finished.
	Cancel(ctx context.Context, chat channels.Chat, id int64) (int, error)
	// SetProcess and AddBubble note what must be cleaned up if we die. SetProcess is quick, because it does not wait for the disk: a
	// process does not outlive the machine. Item 0 is the gateway itself.
	SetProcess(id int64, p Process) error
	AddBubble(ctx context.Context, b Bubble) error
	// DropBubble forgets a bubble that is gone. One whose place a part of a letter takes is forgotten when that is stored.
	DropBubble(ctx context.Context, b Bubble) error
	Bubbles(ctx context.Context) ([]Bubble, error)
	// Item returns one item. Stranded returns the items that are marked running, which after a start is what a dead gateway left, with
	// their processes: for one without, with the Start of the gateway that left it.
	Item(ctx context.Context, id int64) (Item, bool, error)
	Stranded(ctx context.Context) ([]Item, error)
	// Recent returns the last items of a chat, newest first. Waiting counts the pending ones of a chat, or of all for the zero Chat.
	Recent(ctx context.Context, chat channels.Chat, n int) ([]Item, error)
	Waiting(ctx context.Context, chat channels.Chat) (int, error)
}

// Parcel is one outgoing network call and what became of it.
type Parcel struct {
	ID        int64
	Item      int64 // the item it answers, or 0
	Out       channels.Outgoing
	State     State
	Tries     int       // how often it was marked sending
	NotBefore time.Time // zero: at once
	Err       string    // why the last try failed
	// Doubtful says that an earlier try may have been carried out, so that one more may be a repetition.
	Doubtful bool
	Receipt  string
	Queued   time.Time
}

// Key names a parcel for ever. The id alone would not: when the disk loses the last writes that it had
// confirmed, the next parcel gets an id that the network has seen. It is short enough for Discord's nonce.
func (p Parcel) Key() string {
	return strconv.FormatInt(p.ID, 36) + "-" + strconv.FormatInt(p.Queued.UnixMicro(), 36)
}

// Settlement is how the send of a parcel ended: Sent with its receipt, Failed or Unknown for good, or Pending to try again.
type Settlement struct {
	State     State
	Receipt   string
	Reason    string    // why it was not sent, for people
	Doubtful  bool      // this try, or one before it, may have been carried out
	NotBefore time.Time // of Pending: the earliest time of the next try; zero: at once
}

// Letter is a message on its way to the outbox, already cut into network calls.
type Letter struct {
	Item int64 // the item it answers, or 0
	// About is the item that a letter is about which answers none, or 0: it is not sent either when the sender of that is dismissed.
	About int64
	// Place numbers the letters of a turn from 1. When an item runs again, a letter that an earlier attempt already put at the same
	// place with the same content is not sent again, except for parts that failed for good. 0: always sent.
	Place int
	Parts []channels.Outgoing // all to one chat
	// Entry is added to the chat's transcript in the same step, if it is not nil.
	Entry *Entry
	// Claim asks to send the first part at once, which is granted if nothing of its chat is pending or sending.
	Claim bool
}

// Outbox is what is to be sent.
type Outbox interface {
	// Enqueue stores a letter. It returns the first parcel, marked sending, if that was asked for and granted.
	Enqueue(ctx context.Context, l Letter) (Parcel, bool, error)
	// NextParcel marks the oldest pending parcel of a chat sending and returns it. It reports false when there is none, or when one of
	// the chat is sending already; and when it is too early, with that parcel, still pending, so that the caller can wait until its
	// NotBefore (were it marked already, a gateway that dies while it waits could not tell whether it was sent).
	NextParcel(ctx context.Context, chat channels.Chat) (Parcel, bool, error)
	// Settle records how the send of a pending or sending parcel ended. It reports whether the chat has pending parcels now.
	Settle(ctx context.Context, id int64, s Settlement) (more bool, err error)
	// InFlight returns the parcels that are marked sending, which after a start is what a dead gateway left.
	InFlight(ctx context.Context) ([]Parcel, error)
	// ChatsToSend returns up to n chats that have pending parcels, in the order of their keys, after the given key.
	ChatsToSend(ctx context.Context, after string, n int) ([]channels.Chat, error)
	// Undelivered returns the newest parcels that are not sent (pending, failed or unknown), of a chat, or of all for the zero Chat.
	Undelivered(ctx context.Context, chat channels.Chat, n int) ([]Parcel, error)
}

// Entry is one message of a transcript. Role is user or agent.
type Entry struct {
	Role  string    `json:"role"`
	Text  string    `json:"text"`
	Media []string  `json:"media,omitempty"`
	Time  time.Time `json:"time"`
	Item  int64     `json:"-"`
}

// Transcripts are the conversations of chats, without progress. A user's message is part of it once its turn has begun.
type Transcripts interface {
	// History returns the entries of the last n turns of a chat since it was started afresh, oldest first; without those of one item.
	History(ctx context.Context, chat channels.Chat, turns int, without int64) ([]Entry, error)
	// StartAfresh forgets what was said so far, for History, and what is remembered of the chat but for what is Lasting.
	StartAfresh(ctx context.Context, chat channels.Chat) error
}

// Lasting leads the keys of memories that stay when a chat is started afresh.
const Lasting = "lasting:"

// Memories are what is known of a chat beyond what was said, until it is started afresh. Those of the zero Chat are the gateway's own.
type Memories interface {
	// Recall returns what is remembered under a key, or "".
	Recall(ctx context.Context, chat channels.Chat, key string) (string, error)
	// Remember replaces it; "" removes it.
	Remember(ctx context.Context, chat channels.Chat, key, value string) error
}

// Guest is a user who was let in by pairing, or waits for it.
type Guest struct {
	Channel string
	User    channels.User
	Code    string    // "" once accepted
	Since   time.Time // when the code was made, or accepted
	// Message is the newest message of a guest who has not been answered yet, without its media; nil if there is none.
	Message *channels.Incoming
	// Told says that a guest who was let in knows it.
	Told bool
}

// CodeLimits bound the pairing codes of a channel.
type CodeLimits struct {
	Life    time.Duration // how long a code can be used
	Open    int           // how many can be used at the same time: one more ends the oldest
	PerHour int           // how many are made within an hour
}

// Stranger is a message of somebody who is not admitted, and what they are told.
type Stranger struct {
	In channels.Incoming
	// Cursor, if not "", is stored for the channel in the same step.
	Cursor string
	Code   string // what a new code would be
	Limits CodeLimits
	// Coded is said when the code was given out, Later when there are too many codes.
	Coded, Later []channels.Outgoing
}

// Refusal says what became of a stranger's message.
type Refusal int

// The refusals.
const (
	RefusedBefore Refusal = iota // the same message was seen before; nothing was changed but the cursor
	Refused                      // nothing is said: they have a code, or were told lately to try later
	Coded                        // they were given the code
	ToldLater                    // they were told to try later
	NotRefused                   // they have been let in; nothing was changed
)

// Revoked is the status of an item whose sender has lost access.
const Revoked = "revoked"

// Person is a user of a channel.
type Person struct{ Channel, User string }

// Access is who may talk to the bot beyond the configuration.
type Access interface {
	Allowed(ctx context.Context, channel, user string) (bool, error)
	// Refuse takes a message of somebody who is not let in. They are given a code, or told to try later if too many codes were made, but
	// no more than once an hour. What is kept is bounded, however many write however much: that the message was seen, for a day at most;
	// and the newest text of who has an open code, as long as that is open. What is said to strangers is forgotten once it is sent.
	Refuse(ctx context.Context, s Stranger) (Refusal, error)
	// Accept lets in whom a code was made for within ttl, once. Case and space around the code do not matter.
	Accept(ctx context.Context, code string, ttl time.Duration) (Guest, bool, error)
	// Admit lets in a user by id, also one who has never been heard of. It reports false for a user who was in already.
	Admit(ctx context.Context, p Person, ttl time.Duration) (Guest, bool, error)
	// Unwelcomed returns the guests who were let in and have not been told, or whose message was not received, of all channels for the
	// zero Person. Those who have not written lately are not among them.
	Unwelcomed(ctx context.Context, p Person) ([]Guest, error)
	// Tell puts into the outbox what a guest is told who was let in, once. It reports false when they were told before.
	Tell(ctx context.Context, p Person, parts []channels.Outgoing) (bool, error)
	// Welcomed forgets a guest's message, once it is received.
	Welcomed(ctx context.Context, p Person) error
	Guests(ctx context.Context) ([]Guest, error)
	// Revoke forgets a guest and, if dismiss is set because nothing else lets them in, ends their work as Dismiss does, in one step.
	Revoke(ctx context.Context, p Person, dismiss bool) (bool, error)
	// Dismiss ends the work of somebody who has lost access: their pending items are Dead, what answers them or is about them
	// and is not sent yet fails, what is being sent is not tried again, and of their running items the questions are closed and
	// nothing more is taken for the outbox. Those have the status Revoked from then on, also when they are finished. No item of another
	// person is touched.
	Dismiss(ctx context.Context, p Person) error
	// Dismissed returns the running items and the parcels being sent that Dismiss has met.
	Dismissed(ctx context.Context) (items, parcels []int64, err error)
	// BusyUnpaired returns the users of a channel who have pending or running items, or who are to be sent something, but for those who
	// were let in by pairing.
	BusyUnpaired(ctx context.Context, channel string) ([]string, error)
	// ForgetStrangers removes codes that are older than life, with the texts of their users, and what else is kept of strangers for a
	// time that has passed.
	ForgetStrangers(ctx context.Context, life time.Duration) error
}

// Question is something the agent asked the person.
type Question struct {
	ID      string
	Item    int64
	Chat    channels.Chat
	Text    string
	Options []string
	Expires time.Time // zero: never
	Answer  *string   // nil until it is answered
	By      string    // who answered
	// What the store knows of it: whether it takes no answer any more, for whatever reason but time; whether none was asked in its chat
	// since; and what became of the last part of its letter, with the network's id of that, or "".
	Closed, Newest bool
	Letter         State
	Receipt        string
}

// Questions are open and answered questions.
type Questions interface {
	// Ask stores a question and the letter that carries it. The letter's Claim is ignored.
	Ask(ctx context.Context, q Question, l Letter) error
	// Answer records the first answer. It reports false when there is no such open question, or it has expired.
	Answer(ctx context.Context, id, answer, by string) (bool, error)
	// Withdraw closes an open question without an answer, also one that has expired. It reports false when there is no such one.
	Withdraw(ctx context.Context, id string) (bool, error)
	// OpenQuestions returns the questions of a chat that wait for an answer and have not expired, oldest first.
	OpenQuestions(ctx context.Context, chat channels.Chat, now time.Time) ([]Question, error)
	Question(ctx context.Context, id string) (Question, bool, error)
}

// TurnFilter says which turns are looked for.
type TurnFilter struct {
	Chat    channels.Chat // zero: of all chats
	Outcome string        // the state of a turn that is not done, the status of one that is; "": any
	Before  int64         // only those with a lower id; 0: all
	Limit   int
}

// Views are for those who look at the whole.
type Views interface {
	// Turns returns the items that are, were or wait to be turns, newest first.
	Turns(ctx context.Context, f TurnFilter) ([]Item, error)
	// Parcels returns what the agent said in a turn, in order.
	Parcels(ctx context.Context, item int64) ([]Parcel, error)
	// Tally counts the same of several turns, by state. A turn that said nothing is not in it.
	Tally(ctx context.Context, items []int64) (map[int64]map[State]int, error)
	// Trace returns what Finish was given to keep of a turn, or "".
	Trace(ctx context.Context, item int64) (string, error)
	// Oldest returns when the pending item came in that waits longest; zero when there is none.
	Oldest(ctx context.Context) (time.Time, error)
}

// Spool keeps copies of files that wait to be sent, so that an agent that overwrites or deletes them changes nothing.
type Spool interface {
	// Keep copies an open regular file, which stays open, into the spool (by reflink where the file system can, and without
	// its holes) and returns where the copy is, under the same base name. A file of more than most bytes, if that is not 0, is
	// ErrTooLarge, and one that the disk has no room for ErrNoRoom, before anything is copied. A file that is empty or changed
	// meanwhile is ErrChanged, and so is one whose name another file has by now. What may succeed later is ErrUnavailable. The
	// copy ends with ctx. It goes when the last parcel that refers to it is settled for good or was not needed; one that no
	// parcel ever referred to is removed by Prune once it is an hour old.
	Keep(ctx context.Context, file *os.File, most int64) (string, error)
}
