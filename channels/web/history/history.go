// Package history keeps what is said in web chats, in order, and the files that came with it: what
// a chat network keeps on its servers. It knows nothing of HTTP, nor of what events mean to the
// gateway.
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
	"time"

	"nanobot/channels"
	"nanobot/internal/dbfile"
)

// The types of events.
const (
	Message = "message"
	Pressed = "pressed"
)

// Event is something that happened in a chat: a message, or a press on a button.
type Event struct {
	Seq   int64 // its place among all events
	Chat  string
	Owner string // whose chat it is
	Type  string
	ID    string // of the message; of a press, the message that the button is under
	Time  time.Time
	// Pressed is the data of the button under this message that was pressed, or "".
	Pressed string
	Body
}

// Body is what is in an event.
type Body struct {
	From     string            `json:"from,omitempty"` // user or bot
	User     string            `json:"user,omitempty"` // who, of those who may use the chat
	Kind     string            `json:"kind,omitempty"`
	Text     string            `json:"text,omitempty"`
	Media    []Media           `json:"media,omitempty"`
	Buttons  []channels.Button `json:"buttons,omitempty"`
	ClientID string            `json:"client_id,omitempty"`
	ReplyTo  string            `json:"reply_to,omitempty"` // the message that it answers
	Data     string            `json:"data,omitempty"`     // of the button that was pressed
	Press    string            `json:"press,omitempty"`    // the id of the press itself
	Terminal *Terminal         `json:"terminal,omitempty"` // what Text shows as code, in colour
}

// Terminal is a terminal screen in a message.
type Terminal struct {
	Caption string           `json:"caption,omitempty"` // Markdown, above the screen
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
	// Path is where the agent finds a file that a user has sent.
	Path string `json:"path,omitempty"`
}

// Options say how a history is opened.
type Options struct {
	// Published is called with each event once it is on disk, in order, one at a time. It must be
	// quick.
	Published func(Event)
	// Watch follows the files and fails when they are lost or damaged; nil means a watch of the
	// history's own.
	Watch *dbfile.Watch
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// The names in the history's folder.
const (
	Database = "history.db" // what was said
	Files    = "media"      // the folder of the files that came with it
)

// History is an open one. It is safe for concurrent use.
type History struct {
	o       Options
	path    string
	files   string // a folder
	watched *dbfile.Files

	writer *writer
	read   *sql.DB
	last   int64
}

//go:embed schema.sql
var schema string

const (
	// version is the number of the schema.
	version = 1
	// readers is how many reads run side by side.
	readers = 2
)

// Open opens the history in a folder, and makes it if it is not there. One that nobody can work
// with is one of the errors of dbfile.Unusable, and fails the watch.
func Open(dir string, o Options) (*History, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Watch == nil {
		o.Watch = dbfile.NewWatch()
	}
	h := &History{o: o, path: filepath.Join(dir, Database), files: filepath.Join(dir, Files)}
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
	if err := h.o.Watch.Err(); err != nil { // a folder that was removed is not made anew
		return err
	}
	if err := os.MkdirAll(h.files, 0o700); err != nil {
		return err
	}
	err := dbfile.Inspect(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = dbfile.Create(context.Background(), h.path, schema, fmt.Sprintf("PRAGMA user_version = %d", version))
	}
	if err != nil {
		return err
	}
	files, err := h.o.Watch.Follow(h.path)
	if err != nil {
		return err
	}
	defer files.Forget()
	// The writer's connection comes first: it makes the log that readers need.
	c, err := connector(h.path, "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-1024)", "journal_size_limit(16777216)")
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	if err := h.ready(db); err != nil {
		return errors.Join(err, db.Close())
	}
	if c, err = connector(h.path, "query_only(1)", "cache_size(-512)"); err != nil {
		return errors.Join(err, db.Close())
	}
	h.read = sql.OpenDB(c)
	h.read.SetMaxOpenConns(readers)
	h.read.SetMaxIdleConns(readers)
	h.writer = newWriter(db, h.o.Published)
	if err := errors.Join(h.follow(dir), files.Check()); err != nil { // what was opened is what is followed
		return errors.Join(err, h.Close())
	}
	return nil
}

// follow has the writer look after each commit whether everything is still in its place.
func (h *History) follow(dir string) (err error) {
	h.writer.watch, h.writer.judge = h.o.Watch, h.judge
	h.watched, err = h.o.Watch.Follow(dir, h.files, h.path, h.path+dbfile.Log, h.path+dbfile.Index)
	return err
}

// judge ends the use of the history when an error says that it is damaged.
func (h *History) judge(err error) error {
	if err == nil {
		return nil
	}
	return h.o.Watch.FailIfDamaged(h.path, err)
}

func connector(path string, pragmas ...string) (driver.Connector, error) {
	return dbfile.Connector(path, url.Values{"_txlock": {"immediate"}}, pragmas...)
}

// ready finds out whether the schema is ours, and the last number that was given.
func (h *History) ready(db *sql.DB) error {
	ctx := context.Background()
	var have int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	switch {
	case have > version:
		return dbfile.Newer(have, version)
	case have < 1:
		return dbfile.Damaged("it has no schema")
	}
	err := db.QueryRowContext(ctx, "SELECT seq FROM sqlite_sequence WHERE name = 'events'").Scan(&h.last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// Last is the number of the last event there was when the history was opened. Later ones are
// published.
func (h *History) Last() int64 { return h.last }

// Close waits for the writes under way. What is asked later fails.
func (h *History) Close() error {
	h.writer.queue.Close()
	h.watched.Forget()
	// The writer goes last, so that it folds its log into the database.
	return errors.Join(h.read.Close(), h.writer.db.Close())
}
