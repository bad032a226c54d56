package store

import (
	"context"
	"strconv"
	"time"

	"nanobot/channels"
)

// Delivery is one outgoing network call and what became of it.
type Delivery struct {
	ID      int64
	Inbound int64 // the inbound message it answers, or 0
	Out     channels.Outgoing
	State   State
	Tries   int // how often it was marked sending
	// NotBefore is when it may be tried again, by the store's clock; zero: at once. Wait is how
	// long that is from now on, where NextDelivery returns it as too early.
	NotBefore time.Time
	Wait      time.Duration
	Err       string // why the last try failed
	// Doubtful says that an earlier try may have been carried out, so that one more may be a
	// repetition.
	Doubtful bool
	Receipt  string
	Queued   time.Time
	// Age is how long ago it was stored, by the store's clock, when it was marked sending.
	Age time.Duration
}

// Key names a delivery for ever. The id alone would not: when the disk loses the last writes that
// it had confirmed, the next delivery gets an id that the network has seen. It is short enough for
// Discord's nonce.
func (p Delivery) Key() string {
	return strconv.FormatInt(p.ID, 36) + "-" + strconv.FormatInt(p.Queued.UnixMicro(), 36)
}

// Settlement is how the send of a delivery ended: Sent with its receipt, Failed or Unknown for
// good, or Pending to try again.
type Settlement struct {
	State    State
	Receipt  string
	Reason   string        // why it was not sent, for people
	Doubtful bool          // this try, or one before it, may have been carried out
	After    time.Duration // of Pending: how long the next try waits
}

// Outbound is a message on its way to the outbox, already cut into network calls.
type Outbound struct {
	Inbound int64 // the inbound message it answers, or 0
	// About is the inbound message that an outbound message is about which answers none, or 0: it
	// is not sent either when the sender of that is dismissed.
	About int64
	// Sequence numbers the outbound messages of a turn from 1. When an inbound message runs again,
	// an outbound message that an earlier attempt already put with the same sequence number with
	// the same content is not sent again, except for parts that failed for good. 0: always sent.
	Sequence int
	Parts    []channels.Outgoing // all to one chat
	// Entry is added to the chat's transcript in the same step, if it is not nil.
	Entry *Entry
	// Claim asks to send the first part at once, which is granted if nothing of its chat is pending
	// or sending.
	Claim bool
}

// Outbox is what is to be sent.
type Outbox interface {
	// Enqueue stores an outbound message. It returns the first delivery, marked sending, if that
	// was asked for and granted.
	Enqueue(ctx context.Context, l Outbound) (Delivery, bool, error)
	// NextDelivery marks the oldest pending delivery of a chat sending and returns it. It reports
	// false when there is none, or when one of the chat is sending already; and when it is too
	// early, with that delivery, still pending, so that the caller can wait for its Wait
	// (were it marked already, a gateway that dies while it waits could not tell whether it was
	// sent).
	NextDelivery(ctx context.Context, chat channels.Chat) (Delivery, bool, error)
	// Settle records how the send of a pending or sending delivery ended. It reports whether the
	// chat has pending deliveries now.
	Settle(ctx context.Context, id int64, s Settlement) (more bool, err error)
	// ChatsToSend returns up to n chats that have pending deliveries, in the order of their keys,
	// after the given key.
	ChatsToSend(ctx context.Context, after string, n int) ([]channels.Chat, error)
	// Undelivered returns the newest deliveries that are not sent (pending, failed or unknown), of
	// a chat, or of all for the zero Chat.
	Undelivered(ctx context.Context, chat channels.Chat, n int) ([]Delivery, error)
}
