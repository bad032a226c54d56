// Package telegram is the channel to Telegram, through the Bot API. It polls for updates or has
// them delivered to a webhook, confirms one only when it is safe, gathers albums, and sends text,
// files and albums within the limits of the network. It knows nothing of agents or of how what it
// receives is stored.
//
// The library go-telegram/bot makes the calls, but for uploads, getUpdates and downloads: see api.
package telegram

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/httpclient"
)

// Name is the channel's name in envelopes and chat keys.
const Name = "telegram"

// DefaultAPI is where Telegram's own Bot API is.
const DefaultAPI = "https://api.telegram.org"

// Options is what a channel is made of.
type Options struct {
	Token   string
	APIBase string // "" is DefaultAPI
	Mode    string // "" or poll, webhook
	Groups  string // when group messages are taken: "" or mention, all, off
	// WebhookURL is where Telegram reaches what Mount returns; WebhookSecret is what it says to
	// prove itself. "" is one that is made of the token.
	WebhookURL, WebhookSecret string
	// EarlierState is a folder in which earlier versions kept what is in the channel's memory now.
	// Run imports what is there. "" is none.
	EarlierState string
	// Folder makes and opens the folder that the files of a chat go to, by an absolute path.
	Folder func(chatID string) (*os.Root, error)
	// MaxDownload is how many bytes a file that is sent to the bot may have; 0: as many as the
	// server hands out.
	MaxDownload int64
	// Known, if not nil, tells whether a user may talk to the bot. Of others no files are
	// downloaded, and their presses leave the buttons in place; what they say is received all the
	// same.
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
	Resend time.Duration // within which Telegram delivers again what a webhook did not take: 130 s, since it waits up to 120 s
	Watch  time.Duration // how often Telegram is asked about the webhook: 1 min
}

// Channel is a bot on Telegram. See New.
type Channel struct {
	o         Options
	log       *zap.Logger
	api       *api
	pace      *pacer
	upload    chan struct{} // one for each upload that may run
	fetch     chan struct{} // one for each download that may run
	downloads *downloads.Folders
	moves     *moves
	hook      *hook                       // nil: we poll
	webhook   atomic.Pointer[deliverFunc] // nil while Run does not run
	memory    channels.Memory
	earlier   *earlierState

	menu   []channels.Command
	resume string  // the cursor that Run begins with
	cursor int64   // all updates up to this one are stored; only Run touches it once it runs
	me     botUser // the bot itself; only Run touches it
	prefix string  // what stands before message ids; see recognise
	well   health  // of the connection to Telegram
	stored health  // of what is received: whether it can be stored
}

var (
	_ channels.Channel     = (*Channel)(nil)
	_ channels.Replacer    = (*Channel)(nil)
	_ channels.FileLimiter = (*Channel)(nil)
	_ channels.Typer       = (*Channel)(nil)
	_ channels.Resumer     = (*Channel)(nil)
	_ channels.Rememberer  = (*Channel)(nil)
	_ channels.Mounter     = (*Channel)(nil)
	_ channels.Healthy     = (*Channel)(nil)
	_ channels.Menu        = (*Channel)(nil)
	_ channels.ChatMenu    = (*Channel)(nil)
	_ channels.Examiner    = (*Channel)(nil)
)

// uploadsAtOnce and downloadsAtOnce bound connections and disk traffic, whatever the number of
// chats.
const uploadsAtOnce, downloadsAtOnce = 16, 4

var tokenForm = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)

// New returns a channel. It makes no network call: Run finds out whether the token is good.
func New(o Options) (*Channel, error) {
	o.Token = strings.TrimSpace(o.Token)
	o.APIBase = strings.TrimRight(cmp.Or(o.APIBase, DefaultAPI), "/")
	o.Groups = cmp.Or(o.Groups, "mention")
	o.Timing.Poll = cmp.Or(o.Timing.Poll, 50*time.Second)
	o.Timing.Margin = cmp.Or(o.Timing.Margin, 10*time.Second)
	o.Timing.Quiet = cmp.Or(o.Timing.Quiet, time.Second)
	o.Timing.Resend = cmp.Or(o.Timing.Resend, 130*time.Second)
	o.Timing.Watch = cmp.Or(o.Timing.Watch, time.Minute)
	base, err := url.Parse(o.APIBase)
	switch {
	case o.Token == "":
		return nil, errors.New("token: must be set; @BotFather on Telegram gives you one")
	case !tokenForm.MatchString(o.Token): // it is not shown: it may be a good one with something around it
		return nil, errors.New("token: must look like 123456789:AAE… as @BotFather gave it")
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("apiBase: must be an http or https address (got %q)", strings.ReplaceAll(o.APIBase, o.Token, httpclient.Hidden))
	case !slices.Contains([]string{"", "poll", "webhook"}, o.Mode):
		return nil, fmt.Errorf("mode: must be poll or webhook (got %q)", o.Mode)
	case !slices.Contains([]string{"mention", "all", "off"}, o.Groups):
		return nil, fmt.Errorf("groups: must be mention, all or off (got %q)", o.Groups)
	case o.Folder == nil:
		return nil, errors.New("no folder for files")
	}
	var h *hook
	if o.Mode == "webhook" {
		if h, err = newHook(o); err != nil {
			return nil, err
		}
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	earlier, err := readEarlier(o.EarlierState)
	if err != nil {
		return nil, err
	}
	calls, err := newAPI(o.APIBase, o.Token, o.Client)
	if err != nil {
		return nil, err
	}
	return &Channel{
		o: o, hook: h, log: o.Log.With(zap.String("channel", Name)),
		api: calls, pace: newPacer(o.Unpaced), upload: make(chan struct{}, uploadsAtOnce), fetch: make(chan struct{}, downloadsAtOnce),
		moves: newMoves(earlier.moved), earlier: earlier, downloads: downloads.New(o.Folder),
	}, nil
}

// Resume is told which update was received last.
func (c *Channel) Resume(cursor string) { c.resume = cursor }

// Remember is given the channel's memory.
func (c *Channel) Remember(m channels.Memory) { c.memory = m }

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

// group tells whether it is more than one person's. Telegram gives negative ids to groups of all
// sorts.
func (p place) group() bool { return p.chat < 0 }
