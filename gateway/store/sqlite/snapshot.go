package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"nanobot/gateway/store"
	"nanobot/gateway/store/spool"
	"nanobot/internal/dbfile"
)

// snapshotTries bounds the tries of a snapshot. A try fails if a delivery is sent, and its files
// are removed, just after the transaction has begun.
const snapshotTries = 20

// Snapshot copies the database of a state into a folder, with the copies in the spool that
// undelivered messages need. Both show the state at the same moment, even while a daemon runs. It
// returns the folders of the spool that are missing.
func Snapshot(ctx context.Context, dir, to string) (missing []string, err error) {
	path := filepath.Join(dir, Database)
	if err := dbfile.Inspect(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	c, err := openQueryOnly(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var before []string
	_, err = c.readSchemaVersion() // a state with a newer schema may consist of other files as well
	for try := 0; err == nil && try < snapshotTries; try++ {
		if missing, err = c.beginSnapshot(filepath.Join(dir, spool.Name), filepath.Join(to, spool.Name)); err != nil {
			break
		}
		// A copy that is missing twice is lost: it was not removed after a send.
		if len(missing) == 0 || slices.Equal(missing, before) || try == snapshotTries-1 {
			if err = dbfile.Copy(ctx, c.driver, filepath.Join(to, Database)); err == nil {
				err = c.execScript("ROLLBACK")
			}
			break
		}
		before = missing
		if err = c.execScript("ROLLBACK"); err != nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", path, dbfile.Explain(err))
	}
	return missing, nil
}

// openQueryOnly opens the database of a state that a daemon may be using.
func openQueryOnly(ctx context.Context, path string) (*conn, error) {
	d, err := dbfile.Connect(ctx, path, "query_only(1)")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, dbfile.Explain(err))
	}
	return newConn(d), nil
}

// beginSnapshot begins a transaction and links the copies in the spool that are needed at its
// moment, before the daemon removes them.
func (c *conn) beginSnapshot(from, to string) (missing []string, err error) {
	if err := c.execScript("BEGIN"); err != nil {
		return nil, err
	}
	folders, err := appendRows(column[string], func(do func(func(...any) error) error) error {
		return c.queryRows("SELECT DISTINCT folder FROM spooled", nil, do)
	})
	if err != nil {
		return nil, err
	}
	for _, f := range folders {
		if !filepath.IsLocal(f) || filepath.Base(f) != f {
			continue // not the name of a copy
		}
		err := linkFolder(filepath.Join(from, f), filepath.Join(to, f))
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, f)
		} else if err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// linkFolder creates hard links to the files of a folder in another one, so that their content
// survives the removal of the originals.
func linkFolder(from, to string) error {
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return &fs.PathError{Op: "read", Path: from, Err: fs.ErrNotExist}
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, f := range files {
		if !f.Type().IsRegular() {
			continue
		}
		a, b := filepath.Join(from, f.Name()), filepath.Join(to, f.Name())
		err := os.Link(a, b)
		if errors.Is(err, fs.ErrExist) { // linked by an earlier try
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file system without hard links
			err = copyFile(a, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// DeliveryKeys returns the idempotency keys of all deliveries to a channel in the database of a
// state, in every delivery state.
func DeliveryKeys(ctx context.Context, dir, channel string) (keys map[string]bool, err error) {
	path := filepath.Join(dir, Database)
	c, err := openQueryOnly(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	keys = map[string]bool{}
	err = c.queryRows("SELECT id, queued FROM outbox WHERE chat >= ?1 || ':' AND chat < ?1 || ';'", []any{channel},
		func(scan func(...any) error) error {
			var delivery store.Delivery
			err := scan(&delivery.ID, timeColumn{&delivery.Queued})
			keys[delivery.Key()] = true
			return err
		})
	return keys, wrapError("read the outbox of %s", dbfile.Explain(err), path)
}

// CheckCopy checks that a file is an undamaged database with a schema that this program knows.
func CheckCopy(ctx context.Context, path string) error {
	return dbfile.CheckSchema(ctx, path, schemaVersion)
}

// Lock locks a state against daemons until release is called. If a daemon is running on the state,
// the error is store.ErrLocked.
func Lock(dir string) (release func() error, err error) {
	f, err := lockState(dir)
	if err != nil {
		return nil, err
	}
	return func() error { return unlockState(f) }, nil
}
