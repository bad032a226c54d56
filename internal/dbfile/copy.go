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

// pagesPerStep is the number of pages that are copied between two checks of the context.
const pagesPerStep = 1024

// Copy copies a database as its connection sees it, while others may write to it. Within a
// transaction it copies the state that the transaction sees. The copy is checked, and gets its name
// when it is complete, undamaged and on disk.
func Copy(ctx context.Context, from driver.Conn, to string) error {
	unfinished := to + unfinishedSuffix
	if err := removeDatabase(unfinished); err != nil {
		return err
	}
	f, err := os.OpenFile(unfinished, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(f.Close(), copyPages(ctx, from, unfinished)); err == nil {
		var r Report
		if r, err = Check(ctx, unfinished); err == nil && !r.Complete {
			err = ctx.Err()
		}
	}
	if err == nil {
		err = publish(unfinished, to)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy the database: %w", Explain(err)), removeDatabase(unfinished))
	}
	return nil
}

func copyPages(ctx context.Context, from driver.Conn, to string) error {
	source, ok := from.(interface {
		NewBackup(string) (*sqlite.Backup, error)
	})
	if !ok {
		return errors.New("this connection cannot be copied from")
	}
	b, err := source.NewBackup(address(to, url.Values{"_pragma": {"synchronous(OFF)"}})) // publish writes it to disk
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		if err = ctx.Err(); err == nil {
			more, err = b.Step(pagesPerStep)
		}
	}
	return errors.Join(err, b.Finish())
}
