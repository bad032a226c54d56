package channels

import "context"

// FileReceiver is a channel that saves the files that people send.
type FileReceiver interface {
	// SetFiles sets the limit and the records of the saved files. The gateway calls it once, before
	// the first Run; without it there are neither.
	SetFiles(f ReceivedFiles)
}

// FileSaver is a FileReceiver that can save files that nobody has sent on its network, such as
// those of nanobot ask.
type FileSaver interface {
	// SaveFiles saves open files in the folder of a chat as if a person had sent them, and returns
	// their paths. If no message gets them, the caller calls discard, which removes them.
	SaveFiles(chat Chat, files []File) (paths []string, discard func(), err error)
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
