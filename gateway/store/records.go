package store

import "context"

// Records are named values that belong to no chat, such as who is signed in to the web page. Tools
// read and change them beside the daemon, so every method sees what any process has changed before.
type Records interface {
	// LoadRecord returns the value of a key, or "".
	LoadRecord(ctx context.Context, key string) (string, error)
	// ListRecords returns the keys that begin with a prefix, and their values.
	ListRecords(ctx context.Context, prefix string) (map[string]string, error)
	// SaveRecords replaces the values of keys in one step; "" removes a key.
	SaveRecords(ctx context.Context, values map[string]string) error
	// SwapRecord replaces the value of a key if it is the old one, and reports whether it was. ""
	// is a key that is not there: of several who swap the same value for another, one succeeds.
	SwapRecord(ctx context.Context, key, old, value string) (bool, error)
	// InitRecords is SaveRecords that does nothing if a key is there already, and reports whether
	// it did something.
	InitRecords(ctx context.Context, unless string, values map[string]string) (bool, error)
}
