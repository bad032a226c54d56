package store

import (
	"context"
	"os"
)

// Spool stores copies of files to send, so that the agent may overwrite or delete the originals.
type Spool interface {
	// SaveCopy copies an open regular file, which stays open, into the spool. It returns a name for
	// Fetch, which ends in the same base name. A file without an absolute path was passed by
	// another process and may have any name.
	//
	// A file larger than limit, if that is not 0, is ErrTooLarge; a file without room on the disk
	// is ErrNoRoom. A file that is empty, has changed, or has lost its name to another file is
	// ErrChanged. Failures that may pass are ErrUnavailable. The end of ctx cancels the copy.
	//
	// The copy is removed when its last delivery has its final state. A copy without a delivery is
	// removed by Prune when it is an hour old.
	SaveCopy(ctx context.Context, file *os.File, limit int64) (name string, err error)
	// Fetch returns the path of a copy on this machine, as long as an unsettled delivery refers to
	// it. A missing copy is not an error of Fetch.
	Fetch(ctx context.Context, name string) (path string, err error)
}
