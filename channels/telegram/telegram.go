// Package telegram is the channel to Telegram, through the Bot API. It polls for updates itself and confirms one only
// when it was received, gathers albums, and sends text, files and albums within the limits of the network.
// It knows nothing of agents, queues or storage.
package telegram

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
)

// Name is the channel's name in envelopes and chat keys.
const Name = "telegram"

// DefaultAPI is where Telegram's own Bot API is.
const DefaultAPI = "https://api.telegram.org"

// Options is what a channel is made of.
type Options struct {
	Token   string
	APIBase string // "" is DefaultAPI
	Mode    string // "" or poll
	Groups  string // when group messages are taken: "" or mention, all, off
	// Folder returns where the files of a chat go. It is created if it does not exist.
	Folder func(chatID string) (string, error)
	// Known, if not nil, tells whether a user may talk to the bot. Of others no files are downloaded, and their presses
	// leave the buttons in place; what they say is received all the same.
	Known  func(userID string) bool
	Log    *zap.Logger
	Client *http.Client // nil: one of its own
	Timing Timing
	// Unpaced leaves out the pacing, for servers without limits.
	Unpaced bool
}

// Timing is how long the channel waits for what. Zero values are the defaults.
type Timing struct {
	Poll   time.Duration // how long Telegram holds a poll open: 50 s, the most it takes
	Margin time.Duration // how much longer a poll may take before it counts as stalled: 10 s
	Quiet  time.Duration // after which an album counts as complete: 1 s
}

// Channel is a bot on Telegram. See New.
type Channel struct {
	o      Options
	log    *zap.Logger
	api    *api
	pace   *pacer
	upload chan struct{} // one for each upload that may run
	fetch  chan struct{} // one for each download that may run

	menu   []channels.Command
	cursor int64 // the last update that was received; only Run touches it once it runs
	me     user  // the bot itself; only Run touches it

	names sync.Mutex // held while a file gets its name
	mu    sync.Mutex
	moved map[int64]int64 // groups that became supergroups
}

var (
	_ channels.Channel = (*Channel)(nil)
	_ channels.Editor  = (*Channel)(nil)
	_ channels.Typer   = (*Channel)(nil)
	_ channels.Resumer = (*Channel)(nil)
	_ channels.Menu    = (*Channel)(nil)
)

// uploadsAtOnce and downloadsAtOnce bound connections and disk traffic, whatever the number of chats.
const uploadsAtOnce, downloadsAtOnce = 2, 4

var tokenForm = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)

// New returns a channel. It makes no network call: Run finds out whether the token is good.
func New(o Options) (*Channel, error) {
	o.Token = strings.TrimSpace(o.Token)
	o.APIBase = strings.TrimRight(cmp.Or(o.APIBase, DefaultAPI), "/")
	o.Groups = cmp.Or(o.Groups, "mention")
	o.Timing.Poll = cmp.Or(o.Timing.Poll, 50*time.Second)
	o.Timing.Margin = cmp.Or(o.Timing.Margin, 10*time.Second)
	o.Timing.Quiet = cmp.Or(o.Timing.Quiet, time.Second)
	base, err := url.Parse(o.APIBase)
	switch {
	case o.Token == "":
		return nil, errors.New("token: must be set; @BotFather on Telegram gives you one")
	case !tokenForm.MatchString(o.Token): // it is not shown: it may be a good one with something around it
		return nil, errors.New("token: must look like 123456789:AAE… as @BotFather gave it")
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("apiBase: must be an http or https address (got %q)", strings.ReplaceAll(o.APIBase, o.Token, hidden))
	case o.Mode == "webhook":
		return nil, errors.New("mode: webhook is not part of this version; use poll")
	case o.Mode != "" && o.Mode != "poll":
		return nil, fmt.Errorf("mode: must be poll (got %q)", o.Mode)
	case !slices.Contains([]string{"mention", "all", "off"}, o.Groups):
		return nil, fmt.Errorf("groups: must be mention, all or off (got %q)", o.Groups)
	case o.Folder == nil:
		return nil, errors.New("no folder for files")
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return &Channel{
		o: o, log: o.Log.With(zap.String("channel", Name)),
		api:  newAPI(o.APIBase, o.Token, o.Client),
		pace: newPacer(o.Unpaced), upload: make(chan struct{}, uploadsAtOnce), fetch: make(chan struct{}, downloadsAtOnce),
		moved: map[int64]int64{},
	}, nil
}

// Resume is told which update was received last.
func (c *Channel) Resume(cursor string) {
	c.cursor, _ = strconv.ParseInt(cursor, 10, 64)
}

// SetMenu sets the commands that Telegram shows beside the input field.
func (c *Channel) SetMenu(commands []channels.Command) { c.menu = slices.Clone(commands) }

// place is where a message goes: a chat and, of a forum, a topic.
type place struct {
	chat   int64
	thread int
}

// parsePlace reads a chat's id. A topic is a chat of its own, -100123_45.
func parsePlace(id string) (place, error) {
	chat, thread, topic := strings.Cut(id, "_")
	var p place
	var err error
	if p.chat, err = strconv.ParseInt(chat, 10, 64); err != nil || p.chat == 0 {
		return place{}, fmt.Errorf("%q is no chat of Telegram's", id)
	}
	if topic {
		if p.thread, err = strconv.Atoi(thread); err != nil || p.thread <= 0 {
			return place{}, fmt.Errorf("%q is no topic of Telegram's", id)
		}
	}
	return p, nil
}

func (p place) String() string {
	if p.thread == 0 {
		return strconv.FormatInt(p.chat, 10)
	}
	return fmt.Sprintf("%d_%d", p.chat, p.thread)
}

// group tells whether it is more than one person's. Telegram gives negative ids to groups of all sorts.
func (p place) group() bool { return p.chat < 0 }

// migrated notes that a group became a supergroup, which has another id.
func (c *Channel) migrated(from, to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved[from] = to
}

// current returns the id by which a chat is known now.
func (c *Channel) current(chat int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to, ok := c.moved[chat]; ok {
		return to
	}
	return chat
}
