// Package dbfile creates, checks and copies the files of SQLite databases, and watches whether they
// still exist. It does not know their contents.
package dbfile

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The permanent reasons why a database cannot be used, for errors.Is.
var (
	ErrDamaged      = errors.New("the database is damaged")
	ErrNewer        = errors.New("the database was written by a newer nanobot")
	ErrNoPermission = errors.New("this user may not open the database")
)

// Unusable reports whether an error means that a database must be repaired, restored, or opened by
// another version or another user.
func Unusable(err error) bool {
	return errors.Is(err, ErrDamaged) || errors.Is(err, ErrNewer) || errors.Is(err, ErrNoPermission)
}

// Damaged returns an error that is ErrDamaged.
func Damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
}

// Newer returns an error that is ErrNewer.
func Newer(have, known int) error {
	return fmt.Errorf("%w (schema %d; this version supports up to %d)", ErrNewer, have, known)
}

// Explain turns SQLite's errors about a damaged file into ErrDamaged, and returns all others
// unchanged.
func Explain(err error) error {
	var e *sqlite.Error
	if errors.Is(err, ErrDamaged) || !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ {
		return fmt.Errorf("%w: the file is shorter than its header says: %w", ErrDamaged, err)
	}
	return err
}

// The suffixes of the files that SQLite stores beside a database: the write-ahead log, its index,
// and the rollback journal of a database without a log. SQLite rolls a database back by any journal
// that it finds, whoever has written it.
const (
	LogSuffix     = "-wal"
	IndexSuffix   = "-shm"
	JournalSuffix = "-journal"
)

// unfinishedSuffix is the suffix of a database that is not complete yet.
const unfinishedSuffix = ".new"

// Inspect checks a database file without opening it. A missing file is fs.ErrNotExist; a file that
// cannot be a database is ErrDamaged, because Create never leaves one.
func Inspect(path string) error { return inspect(path, os.Lstat) }

func inspect(path string, lstat func(string) (os.FileInfo, error)) error {
	info, err := lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := lstat(path + LogSuffix); lerr != nil {
			return err
		}
		// Another goroutine may have created both since. The database is created before its log.
		if info, err = lstat(path); errors.Is(err, fs.ErrNotExist) {
			return Damaged("%s is missing, and its log %s is there", filepath.Base(path), filepath.Base(path)+LogSuffix)
		}
	}
	if err != nil {
		return markNoPermission(err)
	}
	if !info.Mode().IsRegular() {
		return Damaged("%s is not a regular file (%s)", filepath.Base(path), info.Mode().Type())
	}
	if info.Size() == 0 {
		return Damaged("%s is empty", filepath.Base(path))
	}
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS); err != nil {
		return markNoPermission(&os.PathError{Op: "open", Path: path, Err: err})
	}
	return nil
}

// markNoPermission turns a lack of permissions into ErrNoPermission.
func markNoPermission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w (user %d): %w", ErrNoPermission, os.Geteuid(), err)
	}
	return err
}

// Create creates a database and runs scripts in it. The file gets its name when it is complete and
// on disk: a crash leaves a file that is not taken for a database, and that the next Create
// removes. The caller must ensure that nobody else creates the same database.
func Create(ctx context.Context, path string, scripts ...string) error {
	unfinished := path + unfinishedSuffix
	if err := removeDatabase(unfinished); err != nil {
		return err
	}
	f, err := os.OpenFile(unfinished, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // SQLite would let others read it
	if err != nil {
		return err
	}
	if err = errors.Join(f.Close(), runScripts(ctx, unfinished, scripts)); err == nil {
		err = publish(unfinished, path)
	}
	if err != nil {
		return errors.Join(err, removeDatabase(unfinished))
	}
	return nil
}

// RemoveUnfinished removes the files that a crash in Create or Copy has left.
func RemoveUnfinished(path string) error { return removeDatabase(path + unfinishedSuffix) }

// removeDatabase removes a database and the files beside it.
func removeDatabase(path string) error {
	var errs []error
	for _, end := range []string{"", JournalSuffix, LogSuffix, IndexSuffix} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// runScripts runs scripts in one transaction.
func runScripts(ctx context.Context, path string, scripts []string) (err error) {
	// With auto_vacuum the file can shrink later. publish writes it to disk.
	conn, err := Connect(ctx, path, "auto_vacuum(INCREMENTAL)", "journal_mode(DELETE)", "synchronous(OFF)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for _, s := range append(append([]string{"BEGIN"}, scripts...), "COMMIT") {
		if err := exec(ctx, conn, s); err != nil {
			return err
		}
	}
	return nil
}

func exec(ctx context.Context, conn driver.Conn, script string) error {
	_, err := conn.(driver.ExecerContext).ExecContext(ctx, script, nil)
	return err
}

// publish syncs a complete file and gives it its name, so that a power failure leaves all of it or
// nothing.
func publish(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(to))
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// busyTimeout is how long a connection waits for a lock.
const busyTimeout = 5 * time.Second

// Connector returns a connector for a file, with the settings of each connection. What is deleted
// is overwritten in the file, because it may be a secret.
func Connector(path string, settings url.Values, pragmas ...string) (driver.Connector, error) {
	if settings == nil {
		settings = url.Values{}
	}
	for _, p := range append([]string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "temp_store(MEMORY)",
		"secure_delete(ON)",
	}, pragmas...) {
		settings.Add("_pragma", p)
	}
	return sqlite.NewConnector(address(path, settings))
}

func address(path string, settings url.Values) string {
	return (&url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}).String()
}

// Connect opens one connection.
func Connect(ctx context.Context, path string, pragmas ...string) (driver.Conn, error) {
	c, err := Connector(path, nil, pragmas...)
	if err != nil {
		return nil, err
	}
	return c.Connect(ctx)
}
