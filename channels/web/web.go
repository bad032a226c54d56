// Package web is the channel to browsers and scripts. It is its own chat network: it stores the
// conversations, sends their events to all watchers over server-sent events, and serves the page
// that shows them. It does not authenticate users, which is up to the HTTP server, and knows
// nothing of agents.
package web

import (
	"cmp"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/web/history"
	"nanobot/channels/web/page"
	"nanobot/channels/web/push"
	"nanobot/internal/dbfile"
	"nanobot/internal/diskspace"
	"nanobot/internal/words"
)

// Name is the channel's name in envelopes and chat keys.
const Name = "web"

// DefaultMaxUpload is how many bytes all files of one message may have together.
const DefaultMaxUpload = 50 << 20

// Options are the parameters of New.
type Options struct {
	// State is the folder of the conversations. It is created if it does not exist. With Server, it
	// has only their files.
	State string
	// Server, if not nil, is the database of the conversations.
	Server *pgx.ConnConfig
	// Folder creates and opens the download folder of a chat. The root has an absolute path.
	Folder func(chatID string) (*os.Root, error)
	// Requester returns the user of a request that the HTTP server has let through. A chat belongs
	// to its owner; operators may use all chats.
	Requester func(*http.Request) (user string, operator bool)
	// Name and Picture are those of the bot on the page: a text and a file. "": those of nanobot.
	Name, Picture string
	// Push has the options of notifications; nil means that there are none. New sets its History.
	// SignIn returns the sign-in of a request, or "" for one of a script.
	Push   *push.Options
	SignIn func(*http.Request) string
	// MaxUpload is how many bytes all files of one message may have together; 0 means
	// DefaultMaxUpload.
	MaxUpload int64
	// Watch watches the files of the conversations and fails when they are lost or damaged; nil
	// means a watch of this channel.
	Watch *dbfile.Watch
	Log   *zap.Logger
}

// Channel is the web as a chat network. New returns one.
type Channel struct {
	o         Options
	log       *zap.Logger
	hub       *hub
	downloads *downloads.Folders
	diskSpace *diskspace.Disk
	inFlight  requestCounts // messages being posted, and pages of messages being read
	wake      chan struct{} // tells Run that events may be waiting
	deleted   chan struct{} // tells Run that a chat was deleted
	searching chan struct{} // has a value while a search runs
	push      *push.Sender  // nil without notifications
	running   atomic.Bool   // Run runs: of several members, that of the leader

	rendered  renderCache
	documents documentCache
	picture   *asset                  // of the bot; nil: that of nanobot
	icons     func() map[string]asset // drawn from picture, by path, at first use
	words     *words.Catalogue
	readMenu  channels.MenuSource // nil: there are no menus

	mu        sync.Mutex
	opened    *history.History // nil until it is first used
	closed    bool
	healthErr error // why nothing can be received, for Health
}

var (
	_ channels.Channel        = (*Channel)(nil)
	_ channels.Editor         = (*Channel)(nil)
	_ channels.QuestionCloser = (*Channel)(nil)
	_ channels.FileLimiter    = (*Channel)(nil)
	_ channels.FileReceiver   = (*Channel)(nil)
	_ channels.FileSaver      = (*Channel)(nil)
	_ channels.Typer          = (*Channel)(nil)
	_ channels.ChatChecker    = (*Channel)(nil)
	_ channels.ChatChecker    = (*Settings)(nil)
	_ channels.Repeater       = (*Channel)(nil)
	_ channels.Mounter        = (*Channel)(nil)
	_ channels.Streamer       = (*Channel)(nil)
	_ channels.Publisher      = (*Channel)(nil)
	_ channels.HealthReporter = (*Channel)(nil)
	_ channels.MenuReader     = (*Channel)(nil)
	_ channels.HistoryPruner  = (*Channel)(nil)
	_ channels.Closer         = (*Channel)(nil)
)

// New returns a channel. It opens the history only when it is first used.
func New(o Options) (*Channel, error) {
	switch {
	case o.State == "":
		return nil, errors.New("no folder for the conversations")
	case o.Folder == nil:
		return nil, errors.New("no folder for files")
	case o.Requester == nil:
		return nil, errors.New("no function that identifies the user of a request")
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
	c := &Channel{
		o: o, log: o.Log.With(zap.String("channel", Name)), hub: newHub(), downloads: downloads.New(Name, o.Folder),
		diskSpace: &diskspace.Disk{Dir: o.State}, inFlight: requestCounts{counts: map[string]int{}},
		wake: make(chan struct{}, 1), deleted: make(chan struct{}, 1), searching: make(chan struct{}, 1),
	}
	c.documents.bot = page.Bot{Name: o.Name}
	if o.Picture != "" {
		if picture, err := loadPicture(o.Picture); err == nil { // Settings.Warnings says why not
			c.picture, c.documents.bot.Picture = &picture, picturePath[1:]
			c.icons = sync.OnceValue(func() map[string]asset { return newIcons(picture.content) })
		}
	}
	return c, c.newPush()
}

// SetFiles sets the limit and the records of received files. It must be called before the first
// request.
func (c *Channel) SetFiles(f channels.ReceivedFiles) { c.downloads.SetFiles(f) }

// SaveFiles saves files that nobody has sent in the folder of a chat.
func (c *Channel) SaveFiles(chat channels.Chat, files []channels.File) (paths []string, discard func(), err error) {
	return c.downloads.SaveFiles(chat.ID, files)
}

// openHistory returns the history and opens it at first use. After an error, such as a full disk,
// the next call tries again.
func (c *Channel) openHistory() (*history.History, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened != nil {
		return c.opened, nil
	}
	if c.closed {
		return nil, history.ErrClosed
	}
	h, err := history.Open(c.o.State, history.Options{OnEvent: c.onStored, Server: c.o.Server, Watch: c.o.Watch})
	if err != nil {
		return nil, err
	}
	c.hub.setLast(h.LastSeq())
	c.opened = h
	return h, nil
}

// checkDamage fails the watch if an error says that the history is damaged.
func (c *Channel) checkDamage(err error) error {
	return c.o.Watch.FailIfDamaged(filepath.Join(c.o.State, history.Database), err)
}

// onStored sends a stored event to all watchers, and wakes Run if the gateway is to receive it.
func (c *Channel) onStored(e history.Event) {
	if f := c.toStreamEvent(e); f != nil {
		c.hub.publish(f)
	}
	c.pushNotification(e)
	if e.Type == history.Deleted {
		c.dropTransients(e.Chat)
		signal(c.deleted)
	}
	if e.From != fromBot {
		signal(c.wake)
	}
}

// signal sends to a channel, unless it has a signal already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Watched reports whether an operator has a stream.
func (c *Channel) Watched() bool { return c.hub.hasOperators() }

// Publish sends an event to the operators connected now. It is not stored.
func (c *Channel) Publish(event string, data any) {
	c.hub.publish(&streamEvent{name: event, operators: true, data: func() any { return data }})
}

// CloseStreams ends all streams; clients may connect again. The HTTP server would otherwise wait
// for them when it stops.
func (c *Channel) CloseStreams() { c.hub.endAllStreams() }

// Health returns why nothing can be received, or nil.
func (c *Channel) Health() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.healthErr
}

func (c *Channel) setHealth(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.healthErr = err
}

// Close closes the history. It is called when Run has returned and no Send is running.
func (c *Channel) Close() error {
	c.CloseStreams()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.opened == nil {
		return nil
	}
	err := c.opened.Close()
	c.opened = nil
	return err
}
