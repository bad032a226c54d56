// Package history stores the messages of web chats in order, with their files, as a chat network
// does on its servers. It knows nothing of HTTP, nor of the meaning of events for the gateway.
package history

import (
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/internal/dbfile"
)

// The types of events.
const (
	Message = "message"
	Pressed = "pressed"
	// Closed says that a question is closed.
	Closed = "closed"
	// Inserted says that a message was stored at a reserved number, before later events.
	Inserted = "inserted"
	// Removed says that the content of a message was removed.
	Removed = "removed"
	// Changed says that the chat was renamed or pinned. The event has the title and the state that
	// the chat had when the event was read.
	Changed = "changed"
	// Deleted says that the chat was deleted with all its messages.
	Deleted = "deleted"
	// Edited says that a person has written their last message again, which is to be run again.
	Edited = "edited"
	// reserved is a number that a message may get later.
	reserved = "reserved"
)

// Event is a message, or a change of one.
type Event struct {
	Seq   int64 // sequence number among all events
	Chat  string
	Owner string // owner of the chat
	// ChatTitle is the title of the chat, and Pinned its state, when the event was read.
	ChatTitle string
	Pinned    bool
	Type      string
	ID        string // ID of the message; for other events, of the message that they change
	Time      time.Time
	// Pressed is the data of the pressed button under this message, or "".
	Pressed string
	// Message is the message of an event of the type Inserted or Edited, as it was when the event
	// was read; nil if it was deleted.
	Message *Event
	Body
}

// Body is the content of an event.
type Body struct {
	From        string            `json:"from,omitempty"`     // user or bot
	User        string            `json:"user,omitempty"`     // the sender, if several users may use the chat
	Name        string            `json:"name,omitempty"`     // of the sender, who has chosen it
	Language    string            `json:"language,omitempty"` // of the sender, a BCP 47 tag
	Kind        string            `json:"kind,omitempty"`
	Text        string            `json:"text,omitempty"`
	Format      channels.Format   `json:"format,omitempty"`  // of the text of a bot's message
	Details     string            `json:"details,omitempty"` // Markdown, folded below the text
	Media       []Media           `json:"media,omitempty"`
	Buttons     []channels.Button `json:"buttons,omitempty"`
	ClientID    string            `json:"client_id,omitempty"`
	FittingSize string            `json:"room,omitempty"`     // the columns and rows of a terminal that fit the sender's page
	ReplyTo     string            `json:"reply_to,omitempty"` // ID of the message that this one answers
	Outcome     string            `json:"outcome,omitempty"`  // of a closed question; the buttons have no effect
	Inserted    bool              `json:"inserted,omitempty"` // the message has a reserved number; an Inserted event follows
	Removed     bool              `json:"removed,omitempty"`  // the content was removed
	Edited      bool              `json:"edited,omitempty"`   // the text was changed
	Runs        int               `json:"runs,omitempty"`     // how often the message was run again, up to an event of the type Edited
	Silent      bool              `json:"silent,omitempty"`   // it notifies nobody
	Data        string            `json:"data,omitempty"`     // of the pressed button
	Press       string            `json:"press,omitempty"`    // ID of the press itself
	Terminal    *Terminal         `json:"terminal,omitempty"` // the screen that Text shows without colours
}

// Terminal is a terminal screen in a message.
type Terminal struct {
	Caption string           `json:"caption,omitempty"` // above the screen, in the format of the message
	Screen  *channels.Screen `json:"screen"`
}

// Media is a file of a message.
type Media struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	// Path is the path, in the chat's folder, of a file that a user has sent. With SHA256 it is the
	// only copy; without, an earlier version has stored another one in the history. Modified is the
	// time of its last change when it was received, in Unix nanoseconds.
	Path     string `json:"path,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	Modified int64  `json:"modified,omitempty"`
}

// Saved returns the file in the chat's folder, and whether it is the only copy.
func (m Media) Saved() (downloads.File, bool) {
	return downloads.File{Path: m.Path, Size: m.Size, SHA256: m.SHA256, Modified: m.Modified}, m.SHA256 != ""
}

// Options are the parameters of Open.
type Options struct {
	// OnEvent is called with each event once it is on disk, in order and not concurrently. It must
	// not block.
	OnEvent func(Event)
	// Server, if not nil, is how to connect to the schema of a PostgreSQL database, which several
	// members share and which replaces the file. Its ConnectTimeout also limits each statement.
	Server *pgx.ConnConfig
	// Watch watches the files and fails when they are lost or damaged; nil means a watch of this
	// history.
	Watch *dbfile.Watch
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// The names in the history's folder.
const (
	Database = "history.db" // the database
	Files    = "media"      // the folder of the files of messages
)

// History is an open history. It is safe for concurrent use.
type History struct {
	o       Options
	path    string
	files   string // folder of the files of messages
	watched *dbfile.Files

	writer *writer
	read   *sql.DB
	last   int64

	hints      string     // the channel of PostgreSQL that tells other members of events
	refreshing sync.Mutex // protects last with a server
}

var (
	//go:embed schema.sql
	firstTables string
	//go:embed push.sql
	pushTables string

	schema = firstTables + pushTables
)

// upgrades are the statements that upgrade the first version of the schema to the next ones.
var upgrades = []string{
	`ALTER TABLE chats ADD COLUMN name TEXT NOT NULL DEFAULT '';
	ALTER TABLE chats ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE chats ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;`,
	`CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT NOT NULL, folded TEXT NOT NULL) WITHOUT ROWID;
	CREATE UNIQUE INDEX people_folded ON people (folded);`,
	pushTables,
}

// schemaVersion is the version of the schema.
var schemaVersion = 1 + len(upgrades)

// maxReaders is how many reads run in parallel.
const maxReaders = 2

// Open opens the history in a folder, and creates it if it does not exist. An unusable history
// fails the watch; dbfile.Unusable recognizes these errors.
func Open(dir string, o Options) (*History, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Watch == nil {
		o.Watch = dbfile.NewWatch()
	}
	if o.OnEvent == nil {
		o.OnEvent = func(Event) {}
	}
	h := &History{o: o, path: filepath.Join(dir, Database), files: filepath.Join(dir, Files)}
	if o.Server != nil {
		h.path = "in gateway.store"
	}
	if err := h.open(dir); err != nil {
		err = fmt.Errorf("open web history %s: %w", h.path, dbfile.Explain(err))
		if dbfile.Unusable(err) {
			return nil, o.Watch.Fail(err)
		}
		return nil, err
	}
	return h, nil
}

func (h *History) open(dir string) error {
	if err := h.o.Watch.Err(); err != nil { // a removed folder must not be created again
		return err
	}
	if err := os.MkdirAll(h.files, 0o700); err != nil {
		return err
	}
	if h.o.Server != nil {
		return h.openServer()
	}
	err := dbfile.Inspect(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = dbfile.Create(context.Background(), h.path, schema, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
	}
	if err != nil {
		return err
	}
	files, err := h.o.Watch.Follow(h.path)
	if err != nil {
		return err
	}
	defer files.Forget()
	// The writer's connection comes first: it creates the write-ahead log that readers need.
	c, err := connector(h.path, "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-1024)",
		"journal_size_limit(16777216)")
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	if err := h.checkSchema(db); err != nil {
		return errors.Join(err, db.Close())
	}
	if c, err = connector(h.path, "query_only(1)", "cache_size(-512)"); err != nil {
		return errors.Join(err, db.Close())
	}
	h.read = sql.OpenDB(c)
	h.read.SetMaxOpenConns(maxReaders)
	h.read.SetMaxIdleConns(maxReaders)
	h.writer = newWriter(db, maxGroup, func(events []Event) {
		for _, e := range events {
			h.o.OnEvent(e)
		}
	})
	h.writer.path, h.writer.erased = h.path, true // a crash may have left a log with what was removed
	h.writer.truncateLog()
	if err := errors.Join(h.watchFiles(dir), files.Check()); err != nil { // the watched files are the opened ones
		return errors.Join(err, h.Close())
	}
	return nil
}

// watchFiles lets the writer check after each commit that all files are still in place.
func (h *History) watchFiles(dir string) (err error) {
	h.writer.watch = h.o.Watch
	h.watched, err = h.o.Watch.Follow(dir, h.files, h.path, h.path+dbfile.LogSuffix, h.path+dbfile.IndexSuffix)
	return err
}

func connector(path string, pragmas ...string) (driver.Connector, error) {
	return dbfile.Connector(path, url.Values{"_txlock": {"immediate"}}, pragmas...)
}

// upgrade brings the schema to the newest version in one transaction.
func upgrade(ctx context.Context, db *sql.DB, have int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	script := strings.Join(upgrades[have-1:], "") + fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)
	if _, err := tx.ExecContext(ctx, script); err != nil {
		return errors.Join(fmt.Errorf("upgrade from schema %d: %w", have, err), tx.Rollback())
	}
	return tx.Commit()
}

// checkSchema checks the version of the schema, upgrades it and reads the last sequence number.
func (h *History) checkSchema(db *sql.DB) error {
	ctx := context.Background()
	var have int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	switch {
	case have > schemaVersion:
		return dbfile.Newer(have, schemaVersion)
	case have < 1:
		return dbfile.Damaged("it has no schema")
	case have < schemaVersion:
		if err := upgrade(ctx, db, have); err != nil {
			return err
		}
	}
	err := db.QueryRowContext(ctx, "SELECT seq FROM sqlite_sequence WHERE name = 'events'").Scan(&h.last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// LastSeq returns the sequence number of the last event when the history was opened. Later events
// are passed to OnEvent.
func (h *History) LastSeq() int64 { return h.last }

// Close waits for writes in progress. Later calls fail.
func (h *History) Close() error {
	h.writer.queue.Close()
	h.watched.Forget()
	// The writer is closed last, so that it checkpoints its log into the database.
	return errors.Join(h.read.Close(), h.writer.db.Close())
}
