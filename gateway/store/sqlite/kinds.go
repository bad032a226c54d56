package sqlite

import (
	"errors"
	"slices"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"nanobot/gateway/store"
)

// kind gives an error one of the store's sentinels without changing its text.
type kind struct {
	error
	sentinel error
}

func (k kind) Unwrap() []error { return []error{k.error, k.sentinel} }

// full marks an error of SQLite as store.ErrFull if the disk takes no more. A quota is reported as
// a failed write.
func full(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_FULL || e.Code() == sqlite3.SQLITE_IOERR_WRITE) {
		return kind{err, store.ErrFull}
	}
	return err
}

// passing are the errors by which the kernel says that it cannot write to a disk, or lacks
// something, at the moment.
var passing = []syscall.Errno{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO,
	syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ETXTBSY,
}

// unavailable marks an error of a copy as store.ErrUnavailable if the same copy may succeed later.
func unavailable(err error) error {
	is := func(errno syscall.Errno) bool { return errors.Is(err, errno) }
	if !errors.Is(err, store.ErrNoRoom) && slices.ContainsFunc(passing, is) {
		return kind{err, store.ErrUnavailable}
	}
	return err
}
