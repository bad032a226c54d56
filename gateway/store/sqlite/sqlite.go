// Package sqlite implements the store in one SQLite file, for one daemon on one machine. A single
// writer commits the changes of many goroutines in one transaction (group commit). Only this
// package knows SQL; it knows nothing of agents or networks.
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
	"sync/atomic"
	"time"

	"nanobot/gateway/store"
	"nanobot/gateway/store/processes"
	"nanobot/gateway/store/spool"
	"nanobot/internal/dbfile"
)

var _ store.Store = (*Store)(nil)

// ErrClosed says that the store was closed before the call.
var ErrClosed = errors.New("the store is closed")

// Options say how a store is opened. The zero value is for the daemon.
type Options struct {
	// Shared opens an existing state without the daemon's lock, for the operator's commands, which
	// may run beside a daemon.
	Shared bool
	// Watch watches the files and fails when they are lost or damaged; nil: the store creates its
	// own.
	Watch *dbfile.Watch
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Member is the name of the handle's member; "": a new unique name.
	Member string
}

// The names of files in the state's folder.
const (
	// Database is the store's main file.
	Database = "nanobot.db"
	// Copies is the folder of the copies that are made before a migration, and of the states that
	// Restore replaced.
	Copies = "backups"
	// Unfinished exists during a restore. The state beside it is incomplete.
	Unfinished = "restore.unfinished"
	// LockFile is locked while a daemon uses the state, and contains its process ID.
	LockFile = "daemon.lock"

	processesFile = "agents.txt"
)

// Store is an open nanobot.db and the spool beside it. Each part of the contract is a type of its
// own on the same state.
type Store struct {
	*state
	store.Spool
	inbox
	outbox
	questions
	access
	records
	pruner
	schedules
	usage
	quotas
	people
}

type (
	inbox     struct{ *state }
	outbox    struct{ *state }
	questions struct{ *state }
	access    struct{ *state }
	records   struct{ *state }
	pruner    struct{ *state }
)

// state is the open files and connections.
type state struct {
	now                func() time.Time
	member             string
	spool              *spool.Spool
	processes          *processes.File
	chatsWithMemories  *chatSet // nil if shared
	chatsWithQuestions *chatSet // those that have open questions or secret answers; nil if shared
	lock               *os.File // nil if shared
	readDB             *sql.DB
	// statements are the prepared statements of readDB, by their text.
	statementsMu sync.Mutex
	statements   map[string]*sql.Stmt
	path         string
	watch        *dbfile.Watch
	files        *dbfile.Files // the database and its write-ahead log
	otherFiles   *dbfile.Files // other files that must stay in place

	writer *writer
	once   sync.Once
	closed error

	adopted atomic.Bool // Adopt has succeeded
}

// maxReaders bounds the concurrent reads; the machine's other cores belong to the agents.
const maxReaders = 3

// Open opens the state in dir. Only the daemon creates a missing state: a command might run as
// another user. If another daemon uses dir, the error is store.ErrLocked; an unusable state is one
// of the errors of dbfile.Unusable.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	}
	s := &state{now: o.Now, member: o.Member, watch: o.Watch, path: filepath.Join(dir, Database)}
	if s.now == nil {
		s.now = time.Now
	}
	s.spool = spool.New(filepath.Join(dir, spool.Name), s.now)
	if s.member == "" {
		s.member = rand.Text()
	}
	if s.watch == nil {
		s.watch = dbfile.NewWatch()
	}
	if !o.Shared {
		if err := os.MkdirAll(s.spool.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("open state: %w", err)
		}
		if s.lock, err = lockState(dir); err != nil {
			return nil, err
		}
	}
	if err := s.ensureDatabase(ctx, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.path, dbfile.Explain(err)), s.closeAll())
	}
	if s.processes, err = processes.Open(filepath.Join(dir, processesFile)); err != nil {
		return nil, errors.Join(fmt.Errorf("open state: %w", err), s.closeAll())
	}
	if err := s.connect(ctx, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.path, dbfile.Explain(err)), s.closeAll())
	}
	return &Store{
		s, s.spool,
		inbox{s},
		outbox{s},
		questions{s},
		access{s},
		records{s},
		pruner{s},
		schedules{s},
		usage{s},
		quotas{s},
		people{s},
	}, nil
}

// ensureDatabase checks the database file. The daemon creates a missing one.
func (s *state) ensureDatabase(ctx context.Context, dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, Unfinished)); err == nil {
		return dbfile.Damaged("a restore did not finish (%s exists); restore again", Unfinished)
	}
	err := dbfile.Inspect(s.path)
	if s.lock == nil {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return dbfile.Create(ctx, s.path, creationScripts()...)
	}
	if err != nil {
		return err
	}
	return dbfile.RemoveUnfinished(s.path)
}

// connect opens the connections, checks the database and migrates it.
func (s *state) connect(ctx context.Context, dir string) error {
	files, err := s.watch.Follow(s.path)
	if err != nil {
		return err
	}
	defer files.Forget()
	// The writer's connection is opened first: it creates the log that readers need.
	c, err := dbfile.Connector(s.path, nil, "synchronous(FULL)", "cache_size(-1024)", "journal_size_limit(16777216)")
	if err != nil {
		return err
	}
	writing, err := connect(ctx, c)
	if err != nil {
		return err
	}
	if err := writing.prepareDatabase(ctx, s.path, s.lock != nil); err != nil {
		return errors.Join(err, writing.close())
	}
	if c, err = dbfile.Connector(s.path, nil, "query_only(1)", "cache_size(-512)"); err != nil {
		return errors.Join(err, writing.close())
	}
	if s.lock != nil {
		s.chatsWithMemories, err = loadChatSet(writing, "SELECT chat FROM memory")
		if err == nil {
			s.chatsWithQuestions, err = loadChatSet(writing, `SELECT chat FROM question WHERE closed = 0
				UNION ALL SELECT chat FROM question WHERE secret = 1 AND answer IS NOT NULL`)
		}
		if err != nil {
			return errors.Join(err, writing.close())
		}
	}
	s.readDB, s.statements = sql.OpenDB(c), map[string]*sql.Stmt{}
	s.readDB.SetMaxOpenConns(maxReaders)
	s.readDB.SetMaxIdleConns(maxReaders)
	s.writer = newWriter(writing)
	s.writer.tx.erased = s.lock != nil // a crash may have left a log with secrets
	s.writer.truncateLog()
	return errors.Join(s.watchFiles(dir), files.Check()) // the opened files must be the watched ones
}

// watchFiles has the writer check after each commit that the database and its log still exist, and
// the watch that all other files do.
func (s *state) watchFiles(dir string) (err error) {
	if s.files, err = s.watch.Follow(s.path, s.path+dbfile.LogSuffix); err != nil {
		return err
	}
	s.writer.files = s.files
	if s.lock == nil {
		return nil
	}
	s.otherFiles, err = s.watch.Follow(dir, s.path+dbfile.IndexSuffix, filepath.Join(dir, LockFile), s.spool.Dir)
	return err
}

// prepareDatabase sets the journal mode, migrates the schema and checks for damage. locked says
// that the caller has the daemon's lock.
func (c *conn) prepareDatabase(ctx context.Context, path string, locked bool) error {
	have, err := c.readSchemaVersion()
	if err != nil {
		return err
	}
	if have < schemaVersion && !locked { // a daemon that runs with the old schema must not see the new one
		f, err := lockState(filepath.Dir(path))
		if err != nil {
			return fmt.Errorf("it has an older schema; restart the daemon first: %w", err)
		}
		defer func() { _ = unlockState(f) }()
	}
	var mode string
	if _, err := c.queryRow("PRAGMA journal_mode = WAL", nil, &mode); err != nil {
		return fmt.Errorf("set the journal mode: %w", err)
	}
	if mode != "wal" {
		return fmt.Errorf("set the journal mode: this file system does not support a write-ahead log (the mode is %s)", mode)
	}
	if have < schemaVersion {
		if err := c.copyBeforeMigration(ctx, path, have); err != nil {
			return fmt.Errorf("copy the database before the migration: %w", err)
		}
	}
	if err := c.migrate(); err != nil {
		return err
	}
	if err := c.checkDatabase(path); err != nil || !locked {
		return err
	}
	return c.enableVacuum()
}

// Close waits for the writes in progress and closes the state. Later calls return ErrClosed.
func (s *state) Close() error {
	s.once.Do(func() { s.closed = s.closeAll() })
	return s.closed
}

func (s *state) closeAll() error {
	var errs []error
	if s.writer != nil {
		s.writer.close()
	}
	s.files.Forget()
	s.otherFiles.Forget()
	// The writer's connection is closed last, so that it moves the log into the database.
	for _, stmt := range s.statements {
		errs = append(errs, stmt.Close())
	}
	if s.readDB != nil {
		errs = append(errs, s.readDB.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.tx.conn.close())
	}
	if s.processes != nil {
		errs = append(errs, s.processes.Close())
	}
	if s.lock != nil {
		errs = append(errs, unlockState(s.lock))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close state: %w", err)
	}
	return nil
}
