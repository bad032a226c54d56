// Package discord is the channel to Discord. It receives messages from the gateway, fetches the
// messages that it missed while offline, and sends text and files within the limits of the network.
// It knows nothing of agents, queues or storage.
//
// The library discordgo makes all calls of the REST API that carry no files: it knows the
// addresses, the parameters and the JSON. These parts are written by hand:
//
//   - The meaning of responses (transport.go, apierror.go). The library's errors do not tell
//     whether a request was sent, contain secrets, and also occur for responses that are only too
//     new for its types, such as a message with an unknown component. Responses are decoded into
//     types that have only the used fields.
//   - Rate limits (ratelimits.go). The library sleeps without watching the context, and locks a
//     route during a call.
//   - Requests with files (upload.go). The library holds them in memory.
//   - The connection to the gateway (session.go). The session of the library loses events when it
//     reconnects, and can hang forever.
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
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/httpclient"
	"nanobot/channels/relocated"
	"nanobot/config"
	"nanobot/internal/lazyregexp"
	"nanobot/internal/words"
)

// Name is the name of the network, and of the channel of the account without a name.
const Name = "discord"

// DefaultAPI is the address of Discord's own REST API.
const DefaultAPI = "https://discord.com/api/v10"

// Options configures a channel.
type Options struct {
	Channel string // the channel's name; "" is Name
	Token   string
	// APIBase is the address of the REST API, which names the gateway; "" is DefaultAPI. An address
	// without a path means /api/v10 on that server.
	APIBase string
	Groups  string // which messages on servers are accepted: "" or mention, all, off
	// Thread opens a thread for each conversation that begins in a text channel.
	Thread bool
	// Folder creates and opens the download folder of a chat, by an absolute path.
	Folder func(chatID string) (*os.Root, error)
	// Admitted, if not nil, reports whether a user may talk to the bot. Messages of other users are
	// received without their files, and their button presses leave the buttons in place.
	Admitted func(userID string) bool
	// People are the IDs of users whose direct messages are fetched at the start, because Discord
	// does not list a bot's direct messages. Entries that are not IDs are ignored.
	People []string
	Log    *zap.Logger
	Client *http.Client // nil: a client of its own
	Timing Timing
	// Unpaced turns off the global call rate limit, for servers without limits. Limits in response
	// headers are still obeyed.
	Unpaced bool
}

// Timing sets timeouts and intervals. Zero values are the defaults.
type Timing struct {
	Identify  time.Duration // minimum interval between two Identify calls: 5 s, Discord's limit
	Handshake time.Duration // timeout for Hello and for Ready: 30 s
	Pause     time.Duration // first retry delay; it grows with each failure: 0.5 s
	Refused   time.Duration // delay of the next Run after a permanent refusal: 10 min
	Response  time.Duration // how long Discord waits for the response to an interaction: 3 s
}

// Channel is a bot on Discord. See New.
type Channel struct {
	o             Options
	log           *zap.Logger
	api           *api
	uploadSlots   *semaphore.Weighted
	downloadSlots *semaphore.Weighted
	downloads     *downloads.Folders
	guilds        *guildCache
	responses     *responses
	relocated     relocated.Messages // out of closed threads
	notices       sync.Map           // thread → when people were last told that it is closed

	menu       channels.CommandMenu
	words      *words.Catalogue
	saveCursor func(ctx context.Context, cursor string) error // see KeepCursor
	store      channels.Memory                                // see SetMemory; may be nil
	state      syncState                                      // only Run uses it once it runs
	// when Discord last refused the bot permanently; only Run uses it
	refusedAt time.Time
}

var (
	_ channels.Channel          = (*Channel)(nil)
	_ channels.Replacer         = (*Channel)(nil)
	_ channels.FileLimiter      = (*Channel)(nil)
	_ channels.Typer            = (*Channel)(nil)
	_ channels.Linker           = (*Channel)(nil)
	_ channels.ChatChecker      = (*Channel)(nil)
	_ channels.ChatChecker      = (*Settings)(nil)
	_ channels.ConnectionKeeper = (*Channel)(nil)
	_ channels.Repeater         = (*Channel)(nil)
	_ channels.Resumer          = (*Channel)(nil)
	_ channels.CursorKeeper     = (*Channel)(nil)
	_ channels.MemoryUser       = (*Channel)(nil)
	_ channels.Menu             = (*Channel)(nil)
	_ channels.Examiner         = (*Channel)(nil)
	_ channels.FileReceiver     = (*Channel)(nil)
	_ channels.FileSaver        = (*Channel)(nil)
)

// maxUploads and maxDownloads bound connections and disk traffic across all chats.
const maxUploads, maxDownloads = 2, 4

var tokenForm = lazyregexp.New(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$`)

func tokenProblem(err error) error { return config.Problem{Path: []string{"token"}, Text: err.Error()} }

// New returns a channel. It makes no network call: Run checks the token.
func New(o Options) (*Channel, error) {
	o.Token = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(o.Token), "Bot "))
	o.APIBase = strings.TrimRight(cmp.Or(o.APIBase, DefaultAPI), "/")
	o.Groups, o.Channel = cmp.Or(o.Groups, "mention"), cmp.Or(o.Channel, Name)
	o.Timing.Identify = cmp.Or(o.Timing.Identify, 5*time.Second)
	o.Timing.Handshake = cmp.Or(o.Timing.Handshake, 30*time.Second)
	o.Timing.Pause = cmp.Or(o.Timing.Pause, httpclient.FirstDelay)
	o.Timing.Refused = cmp.Or(o.Timing.Refused, 10*time.Minute)
	o.Timing.Response = cmp.Or(o.Timing.Response, 3*time.Second)
	base, err := url.Parse(o.APIBase)
	switch {
	case o.Token == "":
		return nil, tokenProblem(errors.New("must be set; the Developer Portal gives you one, under Bot → Reset Token"))
	case !tokenForm().MatchString(o.Token): // not shown: it may contain a valid token
		return nil, tokenProblem(
			errors.New("must look like MTE….GxY….abc… as the Developer Portal gave it, under Bot → Reset Token"))
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("apiBase: must be an http or https address (got %q)",
			strings.ReplaceAll(o.APIBase, o.Token, httpclient.RedactedSecret))
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
		o: o, log: o.Log.With(zap.String("channel", o.Channel)),
		api:         newAPI(o),
		uploadSlots: semaphore.NewWeighted(maxUploads), downloadSlots: semaphore.NewWeighted(maxDownloads),
		downloads: downloads.New(o.Channel, o.Folder),
		guilds:    newGuildCache(), responses: newResponses(), state: newSyncState(""),
	}, nil
}

// chat returns the chat with an ID.
func (c *Channel) chat(id string) channels.Chat { return channels.Chat{Channel: c.o.Channel, ID: id} }

// Resume sets the cursor of the last stored message. It must be called before Run.
func (c *Channel) Resume(cursor string) { c.state = newSyncState(cursor) }

// SetMemory sets the storage for the list of known chats. It may be called before Run; without it
// the list is lost when the process ends.
func (c *Channel) SetMemory(m channels.Memory) { c.store = m }

// SetFiles sets the limit and the records of received files. It must be called before Run.
func (c *Channel) SetFiles(f channels.ReceivedFiles) { c.downloads.SetFiles(f) }

// SaveFiles saves files that nobody has sent in the folder of a chat.
func (c *Channel) SaveFiles(chat channels.Chat, files []channels.File) (paths []string, discard func(), err error) {
	return c.downloads.SaveFiles(chat.ID, files)
}

// KeepCursor sets a function that stores a cursor without a message. It may be called before Run.
// Run then calls it after many messages that were not for the bot, so that a restart does not fetch
// them again. Without it no message is lost.
func (c *Channel) KeepCursor(keep func(ctx context.Context, cursor string) error) {
	c.saveCursor = keep
}

// SetMenu sets the commands that Discord offers when somebody types a slash.
func (c *Channel) SetMenu(commands []channels.Command) { c.menu.SetMenu(commands) }

// SetWords sets the catalogue of the words that the channel adds to messages.
func (c *Channel) SetWords(w *words.Catalogue) { c.words = w }

// Repeatable is true: each message carries a nonce derived from its Key, and Discord creates one
// message for all requests with the same nonce within a few minutes.
func (c *Channel) Repeatable() bool { return true }

func (c *Channel) newRetrier(what string) *httpclient.Retrier {
	return httpclient.NewRetrier(c.log, what, c.o.Timing.Pause)
}

// isAdmitted reports whether a user may talk to the bot.
func (c *Channel) isAdmitted(u user) bool { return c.o.Admitted == nil || c.o.Admitted(u.ID.String()) }
