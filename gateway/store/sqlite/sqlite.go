// Package sqlite keeps the store in one SQLite file, for one daemon on one machine. A single writer gathers what many
// goroutines ask for into one transaction, so that they share the wait for the disk. It is the only place that knows SQL.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"

	"nanobot/gateway/store"
)

var _ store.Store = (*Store)(nil)

// ErrClosed says that the store was closed before it was asked.
var ErrClosed = errors.New("the store is closed")

// Options say how a store is opened. The zero value is the daemon's.
type Options struct {
	// Shared opens what is there without the daemon's lock, beside a daemon that may be running: for the operator's tools.
	Shared bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Store is an open nanobot.db and the spool beside it.
type Store struct {
	now    func() time.Time
	spool  spool
	agents *agents
	lock   *os.File // nil when shared
	read   *sql.DB

	writer *writer
	once   sync.Once
	closed error
}

// readers is how many reads run side by side; the machine's other cores belong to the agents.
const readers = 3

// Open opens the state in dir. The daemon makes it if it is not there; what a tool made might not be the daemon's. Another daemon on the same dir is store.ErrLocked.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	}
	s := &Store{now: o.Now, spool: spool{dir: filepath.Join(dir, "spool")}}
	if s.now == nil {
		s.now = time.Now
	}
	path := filepath.Join(dir, "nanobot.db")
	if o.Shared {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("open state: %w", err)
		}
	} else {
		if err := os.MkdirAll(s.spool.dir, 0o700); err != nil {
			return nil, fmt.Errorf("open state: %w", err)
		}
		if s.lock, err = lock(dir); err != nil {
			return nil, err
		}
	}
	if s.agents, err = openAgents(filepath.Join(dir, "agents.txt")); err != nil {
		return nil, errors.Join(fmt.Errorf("open state: %w", err), s.release())
	}
	if err := s.open(ctx, path); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, explain(err)), s.release())
	}
	return s, nil
}

// open connects, checks and migrates.
func (s *Store) open(ctx context.Context, path string) error {
	if err := create(path); err != nil {
		return err
	}
	// The writer's connection comes first: it makes the log that readers need.
	c, err := connector(path, "synchronous(FULL)", "cache_size(-1024)", "journal_size_limit(16777216)")
	if err != nil {
		return err
	}
	t, err := newTx(ctx, c)
	if err != nil {
		return err
	}
	if err := t.ready(path, s.lock != nil); err != nil {
		return errors.Join(err, t.close())
	}
	if c, err = connector(path, "query_only(1)", "cache_size(-512)"); err != nil {
		return errors.Join(err, t.close())
	}
	s.read = sql.OpenDB(c)
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	s.writer = newWriter(t)
	return nil
}

// create makes the file, for its owner only, if it is not there, and its name durable with it.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), syncFolder(filepath.Dir(path)))
}

// connector names the file and the settings that a connection begins with.
func connector(path string, pragmas ...string) (driver.Connector, error) {
	q := url.Values{}
	for _, p := range append([]string{"busy_timeout(5000)", "temp_store(MEMORY)"}, pragmas...) {
		q.Add("_pragma", p)
	}
	return sqlite.NewConnector((&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
}

// ready prepares a fresh connection for writing: journal, schema, and a look at whether the file is sound.
func (t *tx) ready(path string, ours bool) error {
	have, err := t.version()
	if err != nil {
		return err
	}
	if have < version && !ours { // a daemon that runs knows only its own tables
		f, err := lock(filepath.Dir(path))
		if err != nil {
			return fmt.Errorf("it is of an older schema: restart the daemon first: %w", err)
		}
		defer func() { _ = unlock(f) }()
	}
	var mode string
	if _, err := t.row("PRAGMA journal_mode = WAL", nil, &mode); err != nil {
		return fmt.Errorf("choose the journal: %w", err)
	}
	if mode != "wal" {
		return fmt.Errorf("choose the journal: this file system cannot hold a write-ahead log (journal is %s)", mode)
	}
	if err := t.migrate(); err != nil {
		return err
	}
	return t.check(path)
}

// Close waits for the writes under way and lets go of the state. What is asked later gets ErrClosed.
func (s *Store) Close() error {
	s.once.Do(func() { s.closed = s.release() })
	return s.closed
}

func (s *Store) release() error {
	var errs []error
	if s.writer != nil {
		s.writer.queue.Close()
	}
	// The writer's connection goes last, so that it folds the log into the database.
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.tx.close())
	}
	if s.agents != nil {
		errs = append(errs, s.agents.file.Close())
	}
	if s.lock != nil {
		errs = append(errs, unlock(s.lock))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close state: %w", err)
	}
	return nil
}
