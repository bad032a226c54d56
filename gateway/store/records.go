package store

import "context"

// Records are named values without a chat, such as the sessions of the web page. Commands read and
// change them while the daemon runs, so every method sees the changes of all processes.
type Records interface {
	// LoadRecord returns the value of a key, or "".
	LoadRecord(ctx context.Context, key string) (string, error)
	// ListRecords returns the keys that begin with a prefix, and their values.
	ListRecords(ctx context.Context, prefix string) (map[string]string, error)
	// SaveRecords replaces the values of keys in one transaction; "" removes a key.
	SaveRecords(ctx context.Context, values map[string]string) error
	// SwapRecord replaces the value of a key if it equals old, and reports whether it did (compare
	// and swap). "" means that the key does not exist.
	SwapRecord(ctx context.Context, key, old, value string) (bool, error)
	// InitRecords is SaveRecords if the key unless does not exist, and reports whether it saved the
	// values.
	InitRecords(ctx context.Context, unless string, values map[string]string) (bool, error)
}
