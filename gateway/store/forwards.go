package store

import (
	"context"
	"errors"

	"nanobot/channels"
)

// ErrKept says that another member keeps the chat of a message, to which the message is to be
// forwarded.
var ErrKept = errors.New("another member keeps the chat")

// Forwards carry incoming messages from the leader to the member that keeps their chat. A member
// keeps a chat while it runs a turn of it, and afterwards as long as it has an agent or commands
// for it, see Outcome.Keeps. No other live member claims a message of the chat, and Receive and
// ChangeMessage of a person's message are ErrKept for other members, as they are while a message of
// the chat is still to be received by another member. ReadChat tells so before.
type Forwards interface {
	// Forward stores a message for the member that keeps its chat, and in.Cursor. If no member
	// does, it is stored for this one.
	Forward(ctx context.Context, in channels.Incoming) error
	// Forwarded returns up to n messages that this member is to receive, in order. It returns them
	// again until they are dropped.
	Forwarded(ctx context.Context, n int) ([]Forwarded, error)
	DropForwarded(ctx context.Context, id int64) error
	// Release says that this member keeps chats no longer.
	Release(ctx context.Context, chats []string) error
}

// Forwarded is a message that another member has received for this one.
type Forwarded struct {
	ID int64
	In channels.Incoming
}
