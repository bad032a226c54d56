package store

import (
	"context"
	"strconv"
	"time"

	"nanobot/channels"
)

// Delivery is one outgoing network call and its state.
type Delivery struct {
	ID      int64
	Inbound int64 // the inbound message that it answers, or 0
	Out     channels.Outgoing
	State   State
	Tries   int // how often it was marked as sending
	// NotBefore is the earliest time of the next try, by the store's clock; zero: at once. Wait is
	// the time until then, if NextDelivery returns the delivery too early.
	NotBefore time.Time
	Wait      time.Duration
	Err       string // why the last try failed
	// Doubtful says that an earlier try may have been carried out, so that another one may be a
	// repetition.
	Doubtful bool
	Receipt  string
	Queued   time.Time
	// Age is the time since the delivery was stored, by the store's clock, when it was marked as
	// sending.
	Age time.Duration
}

// Key is the idempotency key of a delivery. The ID alone is not unique: if the disk loses confirmed
// writes, a later delivery gets an ID that the network has seen. The key is short enough for
// Discord's nonce.
func (delivery Delivery) Key() string {
	return strconv.FormatInt(delivery.ID, 36) + "-" + strconv.FormatInt(delivery.Queued.UnixMicro(), 36)
}

// Settlement is the result of a send: Sent with its receipt, Failed or Unknown permanently, or
// Pending to try again.
type Settlement struct {
	State    State
	Receipt  string
	Reason   string        // why it was not sent, for people
	Doubtful bool          // this try or an earlier one may have been carried out
	After    time.Duration // of Pending: the wait before the next try
	// Resendable, of Failed, keeps the files of the delivery, which ReceiveRequest.Resend may make
	// pending again.
	Resendable bool
}

// Outbound is a message for the outbox, already split into network calls.
type Outbound struct {
	Inbound int64 // the inbound message that it answers, or 0
	// About is the inbound message that this message is about without answering it, or 0. If the
	// sender of that message is dismissed, this message is not sent either.
	About int64
	// Sequence numbers the outbound messages of a turn from 1. When the turn is retried, a message
	// with the same sequence number and content as in an earlier attempt is not sent again, except
	// for parts that failed permanently. 0: always sent.
	Sequence int
	Parts    []channels.Outgoing // all for one chat
	// Unstreamed, if not nil, is what Parts would be if the beginning of the message had not been
	// shown while it was written. Content is then compared by it, and a message of which an earlier
	// attempt has stored any part is not sent again.
	Unstreamed []channels.Outgoing
	// Entry, if not nil, is added to the chat's transcript in the same transaction.
	Entry *Entry
	// Claim asks to send the first part at once, which is granted if nothing of its chat is pending
	// or sending.
	Claim bool
}

// Outbox stores the messages to send.
type Outbox interface {
	// Enqueue stores an outbound message. If Claim was set and granted, it returns the first
	// delivery, marked as sending.
	Enqueue(ctx context.Context, l Outbound) (Delivery, bool, error)
	// NextDelivery marks the oldest pending delivery of a chat as sending and returns it. It
	// reports false when there is none, or when another one of the chat is being sent. If it is too
	// early, it returns the delivery as well, still pending, so that the caller can wait: if it
	// were marked already, a crash during the wait would make its outcome unknown.
	// Only deliveries that are newer than the one with the ID after count.
	NextDelivery(ctx context.Context, chat channels.Chat, after int64) (Delivery, bool, error)
	// Settle stores the result of a send. It reports whether the chat has pending deliveries now.
	Settle(ctx context.Context, id int64, s Settlement) (more bool, err error)
	// ChatsToSend returns up to n chats with pending deliveries, in the order of their keys, after
	// the given key.
	ChatsToSend(ctx context.Context, after string, n int) ([]channels.Chat, error)
	// Undelivered returns the newest deliveries that are not sent (pending, failed or unknown), of
	// a chat, or of all chats for the zero Chat.
	Undelivered(ctx context.Context, chat channels.Chat, n int) ([]Delivery, error)
	// IsResendable reports whether ReceiveRequest.Resend has an effect on a delivery of a chat.
	IsResendable(ctx context.Context, chat channels.Chat, id int64) (bool, error)
}
