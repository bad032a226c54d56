package sqlite

import (
	"errors"
	"slices"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"nanobot/gateway/store"
)

// markedError adds one of the store's sentinels to an error without changing its text.
type markedError struct {
	error
	sentinel error
}

func (k markedError) Unwrap() []error { return []error{k.error, k.sentinel} }

// markFull marks an error of SQLite as store.ErrFull if the disk is full. An exceeded quota is
// reported as a failed write.
func markFull(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_FULL || e.Code() == sqlite3.SQLITE_IOERR_WRITE) {
		return markedError{err, store.ErrFull}
	}
	return err
}

// temporaryErrnos are the errors of a disk that cannot be written to at the moment, or of exhausted
// resources.
var temporaryErrnos = []syscall.Errno{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO,
	syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ETXTBSY,
}

// markUnavailable marks an error of a copy as store.ErrUnavailable if the copy may succeed later.
func markUnavailable(err error) error {
	is := func(errno syscall.Errno) bool { return errors.Is(err, errno) }
	if !errors.Is(err, store.ErrNoRoom) && slices.ContainsFunc(temporaryErrnos, is) {
		return markedError{err, store.ErrUnavailable}
	}
	return err
}
