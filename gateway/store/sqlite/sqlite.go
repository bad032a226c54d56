// Package sqlite keeps the store in one SQLite file, for one daemon on one machine. A single writer
// gathers what many goroutines ask for into one transaction, so that they share the wait for the
// disk. It is the only place that knows SQL.
package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"nanobot/gateway/store"
	"nanobot/internal/dbfile"
)

var _ store.Store = (*Store)(nil)

// ErrClosed says that the store was closed before it was asked.
var ErrClosed = errors.New("the store is closed")

// Options say how a store is opened. The zero value is the daemon's.
type Options struct {
	// Shared opens what is there without the daemon's lock, beside a daemon that may be running:
	// for the operator's tools.
	Shared bool
	// Watch follows the files and fails when they are lost or damaged; nil means a watch of the
	// store's own.
	Watch *dbfile.Watch
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Member names the handle's member; "" means a name that nobody else has.
	Member string
}

// The names of files in the state's folder.
const (
	// Database is the store's main file.
	Database = "nanobot.db"
	// Copies is the folder of copies that were made before a migration, and of what Restore
	// replaced.
	Copies = "backups"
	// Unfinished is there while a restore is under way. What lies beside it is not a whole state.
	Unfinished = "restore.unfinished"
	// LockFile is locked while a daemon uses the state, and has its process id.
	LockFile = "daemon.lock"

	spoolFolder = "spool"
	agentsFile  = "agents.txt"
)

// Store is an open nanobot.db and the spool beside it.
type Store struct {
	now    func() time.Time
	member string
	spool  spool
	agents *agents
	asking *askingChats // nil when shared
	// remembered are the chats that have memories.
	remembered *chatSet
	lock       *os.File // nil when shared
	read       *sql.DB
	// statements are those of read, by their text.
	statementsMu sync.Mutex
	statements   map[string]*sql.Stmt
	path         string
	watch        *dbfile.Watch
	files        *dbfile.Files // the database and its log
	others       *dbfile.Files // what else must stay in its place

	writer *writer
	once   sync.Once
	closed error
}

// readers is how many reads run side by side; the machine's other cores belong to the agents.
const readers = 3

// Open opens the state in dir. The daemon makes it if it is not there; what a tool made might not
// be the daemon's. Another daemon on the same dir is store.ErrLocked; a state that nobody can work
// with is one of the errors of dbfile.Unusable.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	}
	s := &Store{now: o.Now, member: o.Member, watch: o.Watch, spool: newSpool(filepath.Join(dir, spoolFolder)), path: filepath.Join(dir, Database)}
	if s.now == nil {
		s.now = time.Now
	}
	if s.member == "" {
		s.member = rand.Text()
	}
	if s.watch == nil {
		s.watch = dbfile.NewWatch()
	}
	if !o.Shared {
		if err := os.MkdirAll(s.spool.dir, 0o700); err != nil {
			return nil, fmt.Errorf("open state: %w", err)
		}
		if s.lock, err = lock(dir); err != nil {
			return nil, err
		}
	}
	if err := s.find(ctx, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.path, dbfile.Explain(err)), s.release())
	}
	if s.agents, err = openAgents(filepath.Join(dir, agentsFile)); err != nil {
		return nil, errors.Join(fmt.Errorf("open state: %w", err), s.release())
	}
	if err := s.open(ctx, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.path, dbfile.Explain(err)), s.release())
	}
	return s, nil
}

// find looks for the database. The daemon makes it where there is none.
func (s *Store) find(ctx context.Context, dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, Unfinished)); err == nil {
		return dbfile.Damaged("a restore was begun and has not ended (%s is there); restore again", Unfinished)
	}
	err := dbfile.Inspect(s.path)
	if s.lock == nil {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		scripts, err := forward(0)
		if err != nil {
			return err
		}
		return dbfile.Create(ctx, s.path, scripts...)
	}
	if err != nil {
		return err
	}
	return dbfile.Sweep(s.path)
}

// open connects, checks and migrates.
func (s *Store) open(ctx context.Context, dir string) error {
	files, err := s.watch.Follow(s.path)
	if err != nil {
		return err
	}
	defer files.Forget()
	// The writer's connection comes first: it makes the log that readers need.
	c, err := dbfile.Connector(s.path, nil, "synchronous(FULL)", "cache_size(-1024)", "journal_size_limit(16777216)")
	if err != nil {
		return err
	}
	t, err := newTx(ctx, c)
	if err != nil {
		return err
	}
	if err := t.ready(ctx, s.path, s.lock != nil); err != nil {
		return errors.Join(err, t.close())
	}
	if c, err = dbfile.Connector(s.path, nil, "query_only(1)", "cache_size(-512)"); err != nil {
		return errors.Join(err, t.close())
	}
	if s.lock != nil {
		if s.asking, err = t.findAsking(); err != nil {
			return errors.Join(err, t.close())
		}
		// One more than are known is enough to know that they are too many.
		s.remembered, err = t.findChats(fmt.Sprintf("SELECT DISTINCT chat FROM memory LIMIT %d", mostChats+1))
		if err != nil {
			return errors.Join(err, t.close())
		}
	}
	s.read, s.statements = sql.OpenDB(c), map[string]*sql.Stmt{}
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	s.writer = newWriter(t)
	return errors.Join(s.follow(dir), files.Check()) // what was opened is what is followed
}

// follow has the writer look after each commit whether the database and its log are still there,
// and the watch whether all the rest is.
func (s *Store) follow(dir string) (err error) {
	if s.files, err = s.watch.Follow(s.path, s.path+dbfile.Log); err != nil {
		return err
	}
	s.writer.files = s.files
	if s.lock == nil {
		return nil
	}
	s.others, err = s.watch.Follow(dir, s.path+dbfile.Index, filepath.Join(dir, LockFile), s.spool.dir)
	return err
}

// ready prepares a fresh connection for writing: journal, schema, and a look at whether the file is
// sound.
func (t *tx) ready(ctx context.Context, path string, ours bool) error {
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
	if have < version {
		if err := t.keepCopy(ctx, path, have); err != nil {
			return fmt.Errorf("keep a copy before the schema changes: %w", err)
		}
	}
	if err := t.migrate(); err != nil {
		return err
	}
	return t.check(path)
}

// Close waits for the writes under way and lets go of the state. What is asked later gets
// ErrClosed.
func (s *Store) Close() error {
	s.once.Do(func() { s.closed = s.release() })
	return s.closed
}

func (s *Store) release() error {
	var errs []error
	if s.writer != nil {
		s.writer.close()
	}
	s.files.Forget()
	s.others.Forget()
	// The writer's connection goes last, so that it folds the log into the database.
	for _, stmt := range s.statements {
		errs = append(errs, stmt.Close())
	}
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
