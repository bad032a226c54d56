package store

import (
	"context"
	"os"
)

// Spool keeps copies of files that wait to be sent, so that an agent that overwrites or deletes
// them changes nothing.
type Spool interface {
	// Keep copies an open regular file, which stays open, into the spool (by reflink where the file
	// system can, and without its holes) and returns the name by which Fetch finds
	// it, which ends in the same base name. A
	// file of more than most bytes, if that is not 0, is ErrTooLarge, and one that the disk has no
	// room for ErrNoRoom, before anything is copied. A file that is empty or changed meanwhile is
	// ErrChanged, and so is one whose name another file has by now. What may succeed later is
	// ErrUnavailable. The copy ends with ctx. It goes when the last delivery that refers to it is
	// settled for good or was not needed; one that no delivery ever referred to is removed by Prune
	// once it is an hour old.
	Keep(ctx context.Context, file *os.File, most int64) (name string, err error)
	// Fetch returns the path on this machine of the copy with a name, for as long as a delivery
	// that is not settled refers to it. That the copy itself is missing is no error of Fetch.
	Fetch(ctx context.Context, name string) (path string, err error)
}
