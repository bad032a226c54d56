// Package telegram is the channel to Telegram, through the Bot API. It receives updates by polling
// or by webhook, confirms an update only when it is stored, assembles albums, and sends text, files
// and albums within the limits of the network. It knows nothing of agents, queues or storage.
//
// The library go-telegram/bot makes all calls except uploads, getUpdates and downloads: see api.
package telegram

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/httpclient"
	"nanobot/channels/relocated"
	"nanobot/internal/lazyregexp"
	"nanobot/internal/words"
)

// Name is the channel's name in envelopes and chat keys.
const Name = "telegram"

// DefaultAPI is the address of Telegram's own Bot API.
const DefaultAPI = "https://api.telegram.org"

// Options configures a channel.
type Options struct {
	Token   string
	APIBase string // "" is DefaultAPI
	Mode    string // "" or poll, webhook
	Groups  string // which group messages are accepted: "" or mention, all, off
	// WebhookURL is the public URL of the handler that Mount returns. Telegram sends WebhookSecret
	// with each update; "" means a secret derived from the token.
	WebhookURL, WebhookSecret string
	// LegacyState is a folder in which earlier versions kept the data that is now in the channel's
	// memory. Run imports it. "" means none.
	LegacyState string
	// Folder creates and opens the download folder of a chat, by an absolute path.
	Folder func(chatID string) (*os.Root, error)
	// Rich, Drafts and Reactions switch on rich messages, drafts of answers in private chats, and
	// reactions in groups, where the server supports them: "" or auto, off.
	Rich, Drafts, Reactions string
	// GroupDocuments sends documents and audio in albums instead of singly.
	GroupDocuments bool
	// MaxDownload is the largest accepted file in bytes; 0: the limit of the server.
	MaxDownload int64
	// Admitted, if not nil, reports whether a user may talk to the bot. Messages of other users are
	// received without their files, and their button presses leave the buttons in place.
	Admitted func(userID string) bool
	Log      *zap.Logger
	Client   *http.Client // nil: a client of its own
	Timing   Timing
	// Unpaced turns off the rate limits, for servers without limits.
	Unpaced bool
}

// Timing sets timeouts and intervals. Zero values are the defaults.
type Timing struct {
	Poll   time.Duration // timeout of a long poll: 50 s, Telegram's maximum
	Margin time.Duration // additional time after which a poll counts as stalled: 10 s
	Quiet  time.Duration // time without a new part after which an album counts as complete: 1 s
	Paste  time.Duration // time to wait for the rest of a text that Telegram may have cut: 700 ms
	// Comment is the time after a text for which a webhook waits for the messages that it
	// introduces: 100 ms. In poll mode it bounds another request for them: 500 ms. Negative: no
	// wait.
	Comment time.Duration
	Resend  time.Duration // time within which Telegram repeats a refused delivery: 130 s, because it waits up to 120 s
	Watch   time.Duration // interval of webhook checks: 1 min
}

// Channel is a bot on Telegram. See New.
type Channel struct {
	o             Options
	log           *zap.Logger
	api           *api
	pace          *pacer
	support       support
	deletions     deletionQueues
	unfinished    unfinishedSends
	relocated     relocated.Messages // out of closed topics
	uploadSlots   chan struct{}      // semaphore: one element per running upload
	downloadSlots chan struct{}      // semaphore: one element per running download
	downloads     *downloads.Folders
	migrations    *migrations
	webhook       *webhook                    // nil in poll mode
	deliverUpdate atomic.Pointer[deliverFunc] // nil unless Run is running
	memory        channels.Memory
	legacy        *legacyState

	menu             channels.CommandMenu
	words            *words.Catalogue
	resumeCursor     string  // the cursor from Resume, until loadIdentity has parsed it
	lastStored       int64   // all updates up to this one are stored; only Run uses it once it runs
	botUser          botUser // the bot's own account; only Run uses it
	idPrefix         string  // prefix of message IDs; see loadIdentity
	connectionHealth health  // of the connection to Telegram
	storageHealth    health  // of storing received messages
}

var (
	_ channels.Channel          = (*Channel)(nil)
	_ channels.Replacer         = (*Channel)(nil)
	_ channels.Drafter          = (*Channel)(nil)
	_ channels.Reactor          = (*Channel)(nil)
	_ channels.FileLimiter      = (*Channel)(nil)
	_ channels.Typer            = (*Channel)(nil)
	_ channels.ConnectionKeeper = (*Channel)(nil)
	_ channels.Resumer          = (*Channel)(nil)
	_ channels.MemoryUser       = (*Channel)(nil)
	_ channels.Mounter          = (*Channel)(nil)
	_ channels.HealthReporter   = (*Channel)(nil)
	_ channels.Menu             = (*Channel)(nil)
	_ channels.ChatMenu         = (*Channel)(nil)
	_ channels.Examiner         = (*Channel)(nil)
	_ channels.FileReceiver     = (*Channel)(nil)
)

// maxUploads and maxDownloads bound connections and disk traffic across all chats.
const maxUploads, maxDownloads = 16, 4

var tokenForm = lazyregexp.New(`^[0-9]+:[A-Za-z0-9_-]+$`)

// New returns a channel. It makes no network call: Run checks the token.
func New(o Options) (*Channel, error) {
	o.Token = strings.TrimSpace(o.Token)
	o.APIBase = strings.TrimRight(cmp.Or(o.APIBase, DefaultAPI), "/")
	o.Groups = cmp.Or(o.Groups, "mention")
	o.Timing.Poll = cmp.Or(o.Timing.Poll, 50*time.Second)
	o.Timing.Margin = cmp.Or(o.Timing.Margin, 10*time.Second)
	o.Timing.Quiet = cmp.Or(o.Timing.Quiet, time.Second)
	o.Timing.Paste = cmp.Or(o.Timing.Paste, 700*time.Millisecond)
	if o.Timing.Comment == 0 {
		o.Timing.Comment = 500 * time.Millisecond
		if o.Mode == "webhook" {
			o.Timing.Comment = 100 * time.Millisecond
		}
	}
	o.Timing.Resend = cmp.Or(o.Timing.Resend, 130*time.Second)
	o.Timing.Watch = cmp.Or(o.Timing.Watch, time.Minute)
	base, err := url.Parse(o.APIBase)
	switch {
	case o.Token == "":
		return nil, errors.New("token: must be set; @BotFather on Telegram gives you one")
	case !tokenForm().MatchString(o.Token): // not shown: it may contain a valid token
		return nil, errors.New("token: must look like 123456789:AAE… as @BotFather gave it")
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("apiBase: must be an http or https address (got %q)", strings.ReplaceAll(o.APIBase, o.Token, httpclient.RedactedSecret))
	case !slices.Contains([]string{"", "poll", "webhook"}, o.Mode):
		return nil, fmt.Errorf("mode: must be poll or webhook (got %q)", o.Mode)
	case !slices.Contains([]string{"mention", "all", "off"}, o.Groups):
		return nil, fmt.Errorf("groups: must be mention, all or off (got %q)", o.Groups)
	case !areSwitches(o.Rich, o.Drafts, o.Reactions):
		return nil, fmt.Errorf("rich, drafts and reactions: must be auto or off (got %q, %q and %q)", o.Rich, o.Drafts, o.Reactions)
	case o.Folder == nil:
		return nil, errors.New("no folder for files")
	}
	var h *webhook
	if o.Mode == "webhook" {
		if h, err = newWebhook(o); err != nil {
			return nil, err
		}
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	earlier, err := readLegacyState(o.LegacyState)
	if err != nil {
		return nil, err
	}
	pace := newPacer(o.Unpaced)
	calls, err := newAPI(o.APIBase, o.Token, o.Client, pace)
	if err != nil {
		return nil, err
	}
	return &Channel{
		o: o, webhook: h, log: o.Log.With(zap.String("channel", Name)),
		api: calls, pace: pace, uploadSlots: make(chan struct{}, maxUploads), downloadSlots: make(chan struct{}, maxDownloads),
		migrations: newMigrations(earlier.moved), legacy: earlier, downloads: downloads.New(o.Folder),
		deletions: deletionQueues{chats: map[int64]*deletionQueue{}},
	}, nil
}

// switchOff is the setting that switches off an optional part of the Bot API.
const switchOff = "off"

// areSwitches reports whether all settings are those of a switch.
func areSwitches(settings ...string) bool {
	return !slices.ContainsFunc(settings, func(s string) bool { return !slices.Contains([]string{"", "auto", switchOff}, s) })
}

// Resume sets the cursor of the last stored update. It must be called before Run.
func (c *Channel) Resume(cursor string) { c.resumeCursor = cursor }

// SetMemory sets the channel's memory. It must be called before Run.
func (c *Channel) SetMemory(m channels.Memory) { c.memory = m }

// SetFiles sets the limit and the records of received files. It must be called before Run.
func (c *Channel) SetFiles(f channels.ReceivedFiles) { c.downloads.SetFiles(f) }

// chatAddress is a chat and, in a forum, a topic.
type chatAddress struct {
	chat   int64
	thread int
}

// parseChatAddress parses the gateway's chat ID. A topic is a chat of its own: -100123_45.
func parseChatAddress(id string) (chatAddress, error) {
	chat, thread, topic := strings.Cut(id, "_")
	var p chatAddress
	var err error
	if p.chat, err = strconv.ParseInt(chat, 10, 64); err != nil || p.chat == 0 {
		return chatAddress{}, fmt.Errorf("%q is not a Telegram chat", id)
	}
	if topic {
		if p.thread, err = strconv.Atoi(thread); err != nil || p.thread <= 0 {
			return chatAddress{}, fmt.Errorf("%q is not a Telegram topic", id)
		}
	}
	return p, nil
}

func (p chatAddress) String() string {
	if p.thread == 0 {
		return strconv.FormatInt(p.chat, 10)
	}
	return fmt.Sprintf("%d_%d", p.chat, p.thread)
}

// isGroup reports whether the chat is a group. Telegram gives negative IDs to groups of all kinds.
func (p chatAddress) isGroup() bool { return p.chat < 0 }
