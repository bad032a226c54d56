// Package dbfile is about the files of SQLite databases: how one is created, checked and copied,
// and whether it is still there. It knows nothing of what is in them.
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

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The reasons for which a database cannot be used, whatever is tried. They are found with
// errors.Is.
var (
	ErrDamaged  = errors.New("the database is damaged")
	ErrNewer    = errors.New("the database was written by a newer nanobot")
	ErrUnopened = errors.New("the database is closed to this user")
)

// Unusable tells whether an error says that a database has to be repaired, restored or opened by
// another program.
func Unusable(err error) bool {
	return errors.Is(err, ErrDamaged) || errors.Is(err, ErrNewer) || errors.Is(err, ErrUnopened)
}

// Damaged returns an error that is ErrDamaged.
func Damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
}

// Newer returns an error that is ErrNewer.
func Newer(have, known int) error {
	return fmt.Errorf("%w (schema %d, this one knows up to %d)", ErrNewer, have, known)
}

// Explain makes SQLite's errors for a damaged file an ErrDamaged, and leaves all others as they
// are.
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
		return fmt.Errorf("%w: it is shorter than it says: %w", ErrDamaged, err)
	}
	return err
}

// The names of the files that SQLite keeps beside a database: its log, the index of that, and the
// rollback journal of a database without a log. SQLite rolls the database back by a journal that it
// finds, whoever has written it.
const (
	Log     = "-wal"
	Index   = "-shm"
	Journal = "-journal"
)

// fresh is the end of the name that a database has until it is complete.
const fresh = ".new"

// Inspect looks at a database's file without opening it. No file at all is fs.ErrNotExist; a file
// that cannot be a database is ErrDamaged, because Create never leaves one.
func Inspect(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := os.Lstat(path + Log); lerr == nil {
			return Damaged("%s is missing, and its log %s is there", filepath.Base(path), filepath.Base(path)+Log)
		}
		return err
	}
	if err != nil {
		return closedTo(err)
	}
	if !info.Mode().IsRegular() {
		return Damaged("%s is not a regular file (%s)", filepath.Base(path), info.Mode().Type())
	}
	if info.Size() == 0 {
		return Damaged("%s is empty", filepath.Base(path))
	}
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS); err != nil {
		return closedTo(&os.PathError{Op: "open", Path: path, Err: err})
	}
	return nil
}

// closedTo makes a lack of rights an ErrUnopened.
func closedTo(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w (user %d): %w", ErrUnopened, os.Geteuid(), err)
	}
	return err
}

// Create makes a database with what scripts put into it. It has its name only once it is complete
// and on disk: a process that dies meanwhile leaves a file that nobody takes for a database, and
// that the next Create removes. The caller sees to it that nobody else creates the same one.
func Create(ctx context.Context, path string, scripts ...string) error {
	unfinished := path + fresh
	if err := remove(unfinished); err != nil {
		return err
	}
	f, err := os.OpenFile(unfinished, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // SQLite would let others read it
	if err != nil {
		return err
	}
	if err = errors.Join(f.Close(), run(ctx, unfinished, scripts)); err == nil {
		err = settle(unfinished, path)
	}
	if err != nil {
		return errors.Join(err, remove(unfinished))
	}
	return nil
}

// Sweep removes what a process that died in Create or Copy has left.
func Sweep(path string) error { return remove(path + fresh) }

// remove removes a database that is not needed.
func remove(path string) error {
	var errs []error
	for _, end := range []string{"", Journal, Log, Index} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// run carries out scripts in one transaction.
func run(ctx context.Context, path string, scripts []string) (err error) {
	conn, err := Connect(ctx, path, "journal_mode(DELETE)", "synchronous(OFF)") // settle writes it to disk
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

// settle gives a complete file its name, so that a power cut leaves all of it or nothing.
func settle(from, to string) error {
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

// Connector names a file and the settings that each connection begins with.
func Connector(path string, settings url.Values, pragmas ...string) (driver.Connector, error) {
	if settings == nil {
		settings = url.Values{}
	}
	for _, p := range append([]string{"busy_timeout(5000)", "temp_store(MEMORY)"}, pragmas...) {
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
