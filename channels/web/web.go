// Package web is the channel to browsers and scripts. It is its own network: it keeps the
// conversations, tells everybody who watches what happens in them over one stream of events, and
// serves the page that shows them. Who may do what is decided by whoever mounts it; it knows
// nothing of agents.
package web

import (
	"cmp"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/web/history"
	"nanobot/internal/dbfile"
	"nanobot/internal/sparse"
)

// Name is the channel's name in envelopes and chat keys.
const Name = "web"

// DefaultMaxUpload is how many bytes the files of one message may have.
const DefaultMaxUpload = 50 << 20

// Person is who makes a request. Chats are their owner's; an operator may use all of them.
type Person struct {
	User     string
	Operator bool
}

// Options is what a channel is made of.
type Options struct {
	// State is a folder for the conversations. It is created if it does not exist.
	State string
	// Folder makes and opens the folder that the files of a chat go to, by an absolute path.
	Folder func(chatID string) (*os.Root, error)
	// Who tells who makes a request that was let through.
	Who func(*http.Request) Person
	// MaxUpload is how many bytes the files of one message may have; 0 is DefaultMaxUpload.
	MaxUpload int64
	// Watch follows the files of the conversations and fails when they are lost or damaged; nil
	// means a watch of the channel's own.
	Watch *dbfile.Watch
	Log   *zap.Logger
}

// Channel is the web as a chat network. See New.
type Channel struct {
	o         Options
	log       *zap.Logger
	hub       *hub
	downloads *downloads.Folders
	room      *sparse.DiskSpace
	coming    crowd         // messages on their way in, and pages of them on their way out
	poke      chan struct{} // there may be something for the gateway

	rendered rendered

	mu      sync.Mutex
	kept    *history.History // nil until it is needed
	closed  bool
	trouble error // why nothing can be received just now
}

var (
	_ channels.Channel        = (*Channel)(nil)
	_ channels.Editor         = (*Channel)(nil)
	_ channels.FileLimiter    = (*Channel)(nil)
	_ channels.Typer          = (*Channel)(nil)
	_ channels.Repeater       = (*Channel)(nil)
	_ channels.Mounter        = (*Channel)(nil)
	_ channels.Streamer       = (*Channel)(nil)
	_ channels.Publisher      = (*Channel)(nil)
	_ channels.HealthReporter = (*Channel)(nil)
	_ channels.Closer         = (*Channel)(nil)
)

// New returns a channel. Nothing is opened before it is needed.
func New(o Options) (*Channel, error) {
	switch {
	case o.State == "":
		return nil, errors.New("no folder for the conversations")
	case o.Folder == nil:
		return nil, errors.New("no folder for files")
	case o.Who == nil:
		return nil, errors.New("nobody tells who makes a request")
	}
	var err error
	if o.State, err = filepath.Abs(o.State); err != nil {
		return nil, err
	}
	if o.Watch == nil {
		o.Watch = dbfile.NewWatch()
	}
	o.MaxUpload = cmp.Or(o.MaxUpload, DefaultMaxUpload)
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return &Channel{o: o, log: o.Log.With(zap.String("channel", Name)), hub: newHub(), downloads: downloads.New(o.Folder), room: &sparse.DiskSpace{Dir: o.State}, coming: crowd{inside: map[string]int{}}, poke: make(chan struct{}, 1)}, nil
}

// history opens the conversations when they are first needed. What failed, for want of room
// perhaps, is tried again the next time.
func (c *Channel) history() (*history.History, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept != nil {
		return c.kept, nil
	}
	if c.closed {
		return nil, history.ErrClosed
	}
	h, err := history.Open(c.o.State, history.Options{Published: c.published, Watch: c.o.Watch})
	if err != nil {
		return nil, err
	}
	c.hub.begin(h.Last())
	c.kept = h
	return h, nil
}

// judge ends the use of the conversations when an error says that they are damaged.
func (c *Channel) judge(err error) error {
	if err == nil {
		return nil
	}
	return c.o.Watch.FailIfDamaged(filepath.Join(c.o.State, history.Database), err)
}

// published tells those who watch, and the gateway, of what is on disk.
func (c *Channel) published(e history.Event) {
	c.hub.publish(c.eventFrame(e))
	if e.From != fromBot {
		c.wake()
	}
}

// wake has Run look for something to receive.
func (c *Channel) wake() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// Watched tells whether there are operators whom Publish would reach.
func (c *Channel) Watched() bool { return c.hub.watched() }

// Publish tells operators who watch of something that is not kept.
func (c *Channel) Publish(event string, data any) {
	c.hub.publish(&frame{event: event, operators: true, data: func() any { return data }})
}

// CloseStreams ends the streams of those who watch, who may come back. The HTTP server would wait for
// them when it stops.
func (c *Channel) CloseStreams() { c.hub.hangUp() }

// Health says why nothing can be received just now.
func (c *Channel) Health() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

func (c *Channel) setTrouble(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble = err
}

// Close lets go of the conversations, when Run has returned and nothing is sent any more.
func (c *Channel) Close() error {
	c.CloseStreams()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.kept == nil {
		return nil
	}
	err := c.kept.Close()
	c.kept = nil
	return err
}
