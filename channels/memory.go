package channels

import "context"

// MemoryUser is a channel that stores facts across restarts, such as groups whose IDs have changed,
// without files of its own.
type MemoryUser interface {
	// SetMemory sets the channel's memory. The gateway calls it once, before the first Run.
	SetMemory(m Memory)
}

// Memory stores the named values of one channel. The store implements it: a change is durable when
// the method returns nil. Methods may be called from many goroutines.
type Memory interface {
	// Load returns the value of a key, or "".
	Load(ctx context.Context, key string) (string, error)
	// Save replaces the value of a key; "" removes it.
	Save(ctx context.Context, key, value string) error
	// Parts returns the parts whose complete message was not received, in the order in which they
	// arrived. A channel calls it when Run begins, to complete these messages.
	Parts(ctx context.Context) ([]Incoming, error)
	// DropParts deletes the parts of a message that is not for the bot. Their IDs stay known.
	DropParts(ctx context.Context, chat Chat, group string) error
	// Known reports whether a message or part with this ID was received, refused or dropped.
	Known(ctx context.Context, chat Chat, id string) (bool, error)
	// Idle reports whether the next text in a chat is likely to begin a turn at once. A channel
	// asks before it waits for messages that belong to a text. It does not wait for the disk.
	Idle(chat Chat) bool
}
