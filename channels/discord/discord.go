// Package discord is the channel to Discord. It receives messages from the gateway, fetches what
// was said while it was away, and sends text and files within the limits of the network. It knows
// nothing of agents, queues or storage.
//
// The library discordgo makes all calls of the REST API that carry no files: it knows the
// addresses, the parameters and the JSON. These parts are written by hand:
//
//   - What an answer means (transport.go, refusal.go). The errors of the library do not tell
//     whether a request was sent, contain secrets, and are also made of answers that are only too
//     new for its types, such as a message with an unknown component. Answers are decoded by types
//     that have only the fields that are read.
//   - Rate limits (limits.go). The library sleeps without looking at the context, and locks a route
//     while a call of it is not answered.
//   - Requests with files (upload.go). The library holds them in memory.
//   - The connection to the gateway (session.go). The session of the library loses events when it
//     reconnects, and can hang for good.
//
// The tests in library_*_test.go and files_out_test.go show what the library does in each of these
// cases.
package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/httpclient"
)

// Name is the channel's name in envelopes and chat keys.
const Name = "discord"

// DefaultAPI is where Discord's own REST API is.
const DefaultAPI = "https://discord.com/api/v10"

// Options is what a channel is made of.
type Options struct {
	Token string
	// APIBase is where the REST API is, which says where the gateway is; "" is DefaultAPI. An
	// address without a path is a server whose API is where Discord's is, at /api/v10.
	APIBase string
	Groups  string // when messages on servers are taken: "" or mention, all, off
	// Thread opens a thread for each conversation that begins in a text channel.
	Thread bool
	// Folder makes and opens the folder that the files of a chat go to, by an absolute path.
	Folder func(chatID string) (*os.Root, error)
	// Known, if not nil, tells whether a user may talk to the bot. Of others no files are
	// downloaded, and their presses leave the buttons in place; what they say is received all the
	// same.
	Known func(userID string) bool
	// People are users whose direct messages are looked for at the start, even if they have never
	// been heard before: Discord does not tell bots which conversations they have. What is no id is
	// left out.
	People []string
	Log    *zap.Logger
	Client *http.Client // nil: one of its own
	Timing Timing
	// Unpaced leaves out the pacing that Discord does not ask for in its answers, for servers
	// without limits.
	Unpaced bool
}

// Timing is how long the channel waits for what. Zero values are the defaults.
type Timing struct {
	Identify  time.Duration // between two new sessions: 5 s, what Discord asks for
	Handshake time.Duration // that a server may take to greet us and to let us in: 30 s
	Pause     time.Duration // after the first failure of a kind: half a second, and longer from time to time
	Refused   time.Duration // before a Run tries again after one that was refused for good: 10 min
}

// Channel is a bot on Discord. See New.
type Channel struct {
	o         Options
	log       *zap.Logger
	api       *api
	upload    chan struct{} // one for each upload that may run
	fetch     chan struct{} // one for each download that may run
	downloads *downloads.Folders
	world     *world
	slash     *slashes

	menu    []channels.Command
	keep    func(ctx context.Context, cursor string) error // see KeepCursor
	store   channels.Memory                                // see Remember; nil: there is none
	memory  memory                                         // only Run touches it once it runs
	refused time.Time                                      // when Discord last refused us for good; only Run touches it
}

var (
	_ channels.Channel      = (*Channel)(nil)
	_ channels.Replacer     = (*Channel)(nil)
	_ channels.FileLimiter  = (*Channel)(nil)
	_ channels.Typer        = (*Channel)(nil)
	_ channels.Repeater     = (*Channel)(nil)
	_ channels.Resumer      = (*Channel)(nil)
	_ channels.CursorKeeper = (*Channel)(nil)
	_ channels.Rememberer   = (*Channel)(nil)
	_ channels.Menu         = (*Channel)(nil)
	_ channels.Examiner     = (*Channel)(nil)
)

// uploadsAtOnce and downloadsAtOnce bound connections and disk traffic, whatever the number of
// chats.
const uploadsAtOnce, downloadsAtOnce = 2, 4

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$`)

// New returns a channel. It makes no network call: Run finds out whether the token is good.
func New(o Options) (*Channel, error) {
	o.Token = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(o.Token), "Bot "))
	o.APIBase = strings.TrimRight(cmp.Or(o.APIBase, DefaultAPI), "/")
	o.Groups = cmp.Or(o.Groups, "mention")
	o.Timing.Identify = cmp.Or(o.Timing.Identify, 5*time.Second)
	o.Timing.Handshake = cmp.Or(o.Timing.Handshake, 30*time.Second)
	o.Timing.Pause = cmp.Or(o.Timing.Pause, time.Second/2)
	o.Timing.Refused = cmp.Or(o.Timing.Refused, 10*time.Minute)
	base, err := url.Parse(o.APIBase)
	switch {
	case o.Token == "":
		return nil, errors.New("token: must be set; the Developer Portal gives you one, under Bot → Reset Token")
	case !tokenForm.MatchString(o.Token): // it is not shown: it may be a good one with something around it
		return nil, errors.New("token: must look like MTE….GxY….abc… as the Developer Portal gave it, under Bot → Reset Token")
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("apiBase: must be an http or https address (got %q)", strings.ReplaceAll(o.APIBase, o.Token, httpclient.Hidden))
	case !slices.Contains([]string{"mention", "all", "off"}, o.Groups):
		return nil, fmt.Errorf("groups: must be mention, all or off (got %q)", o.Groups)
	case o.Folder == nil:
		return nil, errors.New("no folder for files")
	}
	if base.Path == "" {
		o.APIBase += "/api/v10"
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return &Channel{
		o: o, log: o.Log.With(zap.String("channel", Name)),
		api:    newAPI(o),
		upload: make(chan struct{}, uploadsAtOnce), fetch: make(chan struct{}, downloadsAtOnce), downloads: downloads.New(o.Folder),
		world: newWorld(), slash: newSlashes(), memory: newMemory(""),
	}, nil
}

// Resume is told what the cursor of the last message was.
func (c *Channel) Resume(cursor string) { c.memory = newMemory(cursor) }

// Remember may be called before Run with where the channel keeps the list of the chats that it
// knows. Without it the list is forgotten when the process ends.
func (c *Channel) Remember(m channels.Memory) { c.store = m }

// KeepCursor may be called before Run with a function that stores a cursor by itself. It is then
// called now and then when a lot was said that was not for us, so that after a restart it is not
// looked through again. Without it nothing is lost.
func (c *Channel) KeepCursor(keep func(ctx context.Context, cursor string) error) { c.keep = keep }

// SetMenu sets the commands that Discord offers when somebody types a slash.
func (c *Channel) SetMenu(commands []channels.Command) { c.menu = slices.Clone(commands) }

// Repeatable is true: a message carries a nonce that is made of its Key, and Discord makes one
// message of all that come with the same nonce within a few minutes.
func (c *Channel) Repeatable() bool { return true }

// known tells whether a user may talk to the bot.
func (c *Channel) known(u user) bool { return c.o.Known == nil || c.o.Known(u.ID.String()) }
