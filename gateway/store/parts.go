package store

import (
	"context"

	"nanobot/channels"
)

// Parts are the parts of messages that a network delivers in parts, until the message is complete.
// Receive and RequestPairing of a message whose Part.Last is set remove the parts of its group in
// the same transaction, and their IDs count as known.
type Parts interface {
	// StorePart stores a part, and in.Cursor as Receive does. A part whose chat and ID are known or
	// stored already changes only the cursor; if they are known, the error is channels.ErrKnown. A
	// part without an ID is always new.
	StorePart(ctx context.Context, in channels.Incoming) error
	// Parts returns the stored parts of a channel, in order of arrival.
	Parts(ctx context.Context, channel string) ([]channels.Incoming, error)
	// DropParts removes the parts of a message that is not for the bot. Their IDs are known from
	// then on.
	DropParts(ctx context.Context, chat channels.Chat, group string) error
	// Known reports whether a message with this ID was received, refused or dropped, alone or as a
	// part.
	Known(ctx context.Context, chat channels.Chat, id string) (bool, error)
}
