package store

import (
	"context"

	"nanobot/channels"
)

// Parts are the parts of messages that a network delivers in parts, until the whole message is
// received: Receive and RequestPairing of a message whose Part.Last is set remove the parts of its
// group in the same step, and make their IDs known.
type Parts interface {
	// Gather stores a part, and in.Cursor in the same step. A part whose chat and ID are known or
	// gathered already changes nothing but the cursor. A part without an ID is always new.
	Gather(ctx context.Context, in channels.Incoming) error
	// Parts returns the gathered parts of a channel, in the order in which they were gathered.
	Parts(ctx context.Context, channel string) ([]channels.Incoming, error)
	// DropParts removes the parts of a message that is not for the bot. Their IDs are known from
	// then on.
	DropParts(ctx context.Context, chat channels.Chat, group string) error
	// Known reports whether a message with this ID was received, refused, dropped, or part of one
	// that was.
	Known(ctx context.Context, chat channels.Chat, id string) (bool, error)
}
