package channels

import "context"

// FileReceiver is a channel that saves the files that people send.
type FileReceiver interface {
	// SetFiles sets the limit and the records of the saved files. The gateway calls it once, before
	// the first Run; without it there are neither.
	SetFiles(f ReceivedFiles)
}

// ReceivedFiles has the limit and the records of the files that people have sent. The gateway
// implements it. Methods may be called from many goroutines.
type ReceivedFiles interface {
	// MaxBytes returns how many bytes the received files of one chat may have together; 0: no
	// limit.
	MaxBytes() int64
	FileRecords
}

// FileRecords has the records of received files.
type FileRecords interface {
	// ListRecords returns the records whose keys begin with a prefix. SaveRecords replaces the
	// values of keys; "" removes a key.
	ListRecords(ctx context.Context, prefix string) (map[string]string, error)
	SaveRecords(ctx context.Context, values map[string]string) error
}
