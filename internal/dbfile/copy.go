package dbfile

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"

	"modernc.org/sqlite"
)

// copied is how many pages are copied between two looks at whether the copy is still wanted.
const copied = 1024

// Copy copies a database as its connection sees it now, while others may write to it. Called within
// a transaction it copies what that sees. The copy is checked, and has its name only once it is
// complete, sound and on disk.
func Copy(ctx context.Context, from driver.Conn, to string) error {
	unfinished := to + fresh
	if err := remove(unfinished); err != nil {
		return err
	}
	f, err := os.OpenFile(unfinished, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(f.Close(), duplicate(ctx, from, unfinished)); err == nil {
		var r Report
		if r, err = Check(ctx, unfinished); err == nil && !r.Whole {
			err = ctx.Err()
		}
	}
	if err == nil {
		err = settle(unfinished, to)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy the database: %w", Explain(err)), remove(unfinished))
	}
	return nil
}

func duplicate(ctx context.Context, from driver.Conn, to string) error {
	source, ok := from.(interface {
		NewBackup(string) (*sqlite.Backup, error)
	})
	if !ok {
		return errors.New("this connection cannot be copied from")
	}
	b, err := source.NewBackup(address(to, url.Values{"_pragma": {"synchronous(OFF)"}})) // settle writes it to disk
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		if err = ctx.Err(); err == nil {
			more, err = b.Step(copied)
		}
	}
	return errors.Join(err, b.Finish())
}
