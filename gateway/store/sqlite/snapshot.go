package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"nanobot/gateway/store"
	"nanobot/internal/dbfile"
)

// snapshotTries is how often a snapshot is begun anew because an answer was delivered, and its
// files removed, just when it began.
const snapshotTries = 20

// Snapshot copies the database of a state, as it is at one moment, into a folder, and with it the
// spool's copies that answers need which are not delivered at that moment. A daemon may go on
// meanwhile. It returns the folders of the spool that are missing.
func Snapshot(ctx context.Context, dir, to string) (missing []string, err error) {
	path := filepath.Join(dir, Database)
	if err := dbfile.Inspect(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	conn, err := dbfile.Connect(ctx, path, "query_only(1)")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, dbfile.Explain(err))
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	t := &tx{conn: conn, kept: map[string]driver.Stmt{}}
	var before []string
	_, err = t.version() // of a newer one it is not known what else belongs to it
	for try := 0; err == nil && try < snapshotTries; try++ {
		if missing, err = t.freeze(filepath.Join(dir, spoolFolder), filepath.Join(to, spoolFolder)); err != nil {
			break
		}
		// What is missing twice was not delivered meanwhile: it is lost.
		if len(missing) == 0 || slices.Equal(missing, before) || try == snapshotTries-1 {
			if err = dbfile.Copy(ctx, conn, filepath.Join(to, Database)); err == nil {
				err = t.script("ROLLBACK")
			}
			break
		}
		before = missing
		if err = t.script("ROLLBACK"); err != nil {
			break
		}
	}
	for _, s := range t.kept {
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", path, dbfile.Explain(err))
	}
	return missing, nil
}

// freeze begins a transaction, and keeps the spool's copies that are needed at its moment, before
// the daemon removes them.
func (t *tx) freeze(from, to string) (missing []string, err error) {
	if err := t.script("BEGIN"); err != nil {
		return nil, err
	}
	var folders []string
	err = t.each("SELECT DISTINCT folder FROM spooled", nil, func(scan func(...any) error) error {
		folders = append(folders, "")
		return scan(&folders[len(folders)-1])
	})
	if err != nil {
		return nil, err
	}
	for _, f := range folders {
		if !filepath.IsLocal(f) || filepath.Base(f) != f {
			continue // no name of ours
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

// linkFolder gives the files of a folder second names in another one, so that they stay when the
// first are removed.
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
		if errors.Is(err, fs.ErrExist) { // of the last try
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file system without links
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

// Keys returns the keys of all messages to a channel that the outbox in a folder's database holds,
// sent or not.
func Keys(ctx context.Context, dir, channel string) (keys map[string]bool, err error) {
	path := filepath.Join(dir, Database)
	conn, err := dbfile.Connect(ctx, path, "query_only(1)")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, dbfile.Explain(err))
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	t := &tx{conn: conn, kept: map[string]driver.Stmt{}}
	keys = map[string]bool{}
	err = t.each("SELECT id, queued FROM outbox WHERE chat >= ?1 || ':' AND chat < ?1 || ';'", []any{channel}, func(scan func(...any) error) error {
		var p store.Delivery
		var queued int64
		if err := scan(&p.ID, &queued); err != nil {
			return err
		}
		p.Queued = fromMicros(queued)
		keys[p.Key()] = true
		return nil
	})
	for _, s := range t.kept {
		err = errors.Join(err, s.Close())
	}
	return keys, wrapError("read the outbox of %s", dbfile.Explain(err), path)
}

// CheckCopy finds out whether a file is a whole and sound database of a schema that this nanobot
// knows.
func CheckCopy(ctx context.Context, path string) error { return dbfile.CheckSchema(ctx, path, version) }

// Lock keeps daemons off a state until unlock is called. A daemon that runs on it is
// store.ErrLocked.
func Lock(dir string) (release func() error, err error) {
	f, err := lockState(dir)
	if err != nil {
		return nil, err
	}
	return func() error { return unlockState(f) }, nil
}
