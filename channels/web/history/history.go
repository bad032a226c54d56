// Package history keeps what is said in web chats, in order, and the files that came with it: what a chat network keeps on its
// servers. It knows nothing of HTTP, nor of what events mean to the gateway.
package history

import (
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"nanobot/channels"
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
	// Published is called with each event once it is on disk, in order, one at a time. It must be quick.
	Published func(Event)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// History is an open one. It is safe for concurrent use.
type History struct {
	o     Options
	files string // a folder

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

// Open opens the history in a folder, and makes it if it is not there.
func Open(dir string, o Options) (*History, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &History{o: o, files: filepath.Join(dir, "media")}
	if err := os.MkdirAll(h.files, 0o700); err != nil {
		return nil, fmt.Errorf("open web history: %w", err)
	}
	path := filepath.Join(dir, "history.db")
	if err := h.open(path); err != nil {
		return nil, fmt.Errorf("open web history %s: %w", path, err)
	}
	return h, nil
}

func (h *History) open(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite would let others read it
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), syncFolder(filepath.Dir(path))); err != nil {
		return err
	}
	// The writer's connection comes first: it makes the log that readers need.
	c, err := connector(path, "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-1024)", "journal_size_limit(16777216)")
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	if err := h.ready(db); err != nil {
		return errors.Join(err, db.Close())
	}
	if c, err = connector(path, "query_only(1)", "cache_size(-512)"); err != nil {
		return errors.Join(err, db.Close())
	}
	h.read = sql.OpenDB(c)
	h.read.SetMaxOpenConns(readers)
	h.read.SetMaxIdleConns(readers)
	h.writer = newWriter(db, h.o.Published)
	return nil
}

func connector(path string, pragmas ...string) (driver.Connector, error) {
	q := url.Values{"_txlock": {"immediate"}}
	for _, p := range append([]string{"busy_timeout(5000)", "temp_store(MEMORY)"}, pragmas...) {
		q.Add("_pragma", p)
	}
	return sqlite.NewConnector((&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
}

// ready makes the tables if there are none, and finds out the last number that was given.
func (h *History) ready(db *sql.DB) error {
	ctx := context.Background()
	var have int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	switch {
	case have > version:
		return fmt.Errorf("it was written by a newer nanobot (schema %d, this one knows up to %d): use that one", have, version)
	case have == 0:
		if _, err := db.ExecContext(ctx, fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nPRAGMA user_version = %d;\nCOMMIT", schema, version)); err != nil {
			return fmt.Errorf("make tables: %w", err)
		}
	}
	err := db.QueryRowContext(ctx, "SELECT seq FROM sqlite_sequence WHERE name = 'events'").Scan(&h.last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// Last is the number of the last event there was when the history was opened. Later ones are published.
func (h *History) Last() int64 { return h.last }

// Close waits for the writes under way. What is asked later fails.
func (h *History) Close() error {
	h.writer.queue.Close()
	// The writer goes last, so that it folds its log into the database.
	return errors.Join(h.read.Close(), h.writer.db.Close())
}
