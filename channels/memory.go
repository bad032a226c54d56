package channels

import "context"

// MemoryUser is a channel that keeps facts across restarts, such as groups whose ids have changed.
// It keeps no files of its own for that.
type MemoryUser interface {
	// Remember hands over the memory of the channel. The gateway calls it once, before the first
	// Run.
	SetMemory(m Memory)
}

// Memory is what one channel remembers. The store implements it; what a method has changed is
// durable when it returns nil. Methods may be called from many goroutines.
type Memory interface {
	// Load returns the value of a key, or "".
	Load(ctx context.Context, key string) (string, error)
	// Save replaces the value of a key; "" removes it.
	Save(ctx context.Context, key, value string) error
	// Parts returns the parts that were received and whose whole message was not, in the order in
	// which they were received. A channel calls it when Run begins, to complete those messages.
	Parts(ctx context.Context) ([]Incoming, error)
	// DropParts forgets the parts of a message that is not for the bot. Their IDs stay known.
	DropParts(ctx context.Context, chat Chat, group string) error
	// Known reports whether a message with this ID was received or dropped, or was part of one that
	// was. A channel asks before it completes a message with parts that may have come before.
	Known(ctx context.Context, chat Chat, id string) (bool, error)
}
