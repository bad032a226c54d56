// Package telegram is the channel to Telegram, through the Bot API: its settings, its diagnosis,
// and the composition of its parts. Package receiving receives updates, sending sends messages,
// menus shows commands, and botapi makes their calls. It knows nothing of agents, queues or
// storage.
package telegram

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/menus"
	"nanobot/channels/telegram/pace"
	"nanobot/channels/telegram/receiving"
	"nanobot/channels/telegram/sending"
	"nanobot/config"
	"nanobot/internal/lazyregexp"
	"nanobot/internal/words"
)

// Name is the name of the network, and of the channel of the account without a name.
const Name = "telegram"

// DefaultAPI is the address of Telegram's own Bot API.
const DefaultAPI = botapi.Telegram

// Options configures a channel.
type Options struct {
	Channel string // the channel's name; "" is Name
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
	// NoRich, NoDrafts and NoReactions switch off rich messages, drafts of answers in private
	// chats, and reactions in groups, which are used where the server supports them.
	NoRich, NoDrafts, NoReactions bool
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

// Timing sets timeouts and intervals of receiving.
type Timing = receiving.Timing

// Channel is a bot on Telegram: its receiver, its sender and its menu. See New.
type Channel struct {
	*receiving.Receiver
	*sending.Sender
	*menus.Menu
	api        *botapi.Client
	migrations *chats.Migrations
	groups     string
	webhook    *receiving.Webhook // nil in poll mode
}

var (
	_ channels.Channel          = (*Channel)(nil)
	_ channels.Replacer         = (*Channel)(nil)
	_ channels.Drafter          = (*Channel)(nil)
	_ channels.Reactor          = (*Channel)(nil)
	_ channels.FileLimiter      = (*Channel)(nil)
	_ channels.Typer            = (*Channel)(nil)
	_ channels.ChatLocator      = (*Channel)(nil)
	_ channels.Linker           = (*Channel)(nil)
	_ channels.ChatChecker      = (*Channel)(nil)
	_ channels.ChatChecker      = (*Settings)(nil)
	_ channels.ConnectionKeeper = (*Channel)(nil)
	_ channels.Resumer          = (*Channel)(nil)
	_ channels.MemoryUser       = (*Channel)(nil)
	_ channels.WordsUser        = (*Channel)(nil)
	_ channels.Mounter          = (*Channel)(nil)
	_ channels.HealthReporter   = (*Channel)(nil)
	_ channels.Menu             = (*Channel)(nil)
	_ channels.ChatMenu         = (*Channel)(nil)
	_ channels.Examiner         = (*Channel)(nil)
	_ channels.FileReceiver     = (*Channel)(nil)
	_ channels.FileSaver        = (*Channel)(nil)
)

func tokenProblem(err error) error { return config.Problem{Path: []string{"token"}, Text: err.Error()} }

var tokenForm = lazyregexp.New(`^[0-9]+:[A-Za-z0-9_-]+$`)

// New returns a channel. It makes no network call: Run checks the token.
func New(o Options) (*Channel, error) {
	o.Token = strings.TrimSpace(o.Token)
	o.APIBase = strings.TrimRight(cmp.Or(o.APIBase, DefaultAPI), "/")
	o.Groups, o.Channel = cmp.Or(o.Groups, "mention"), cmp.Or(o.Channel, Name)
	base, err := url.Parse(o.APIBase)
	switch {
	case o.Token == "":
		return nil, tokenProblem(errors.New("must be set; @BotFather on Telegram gives you one"))
	case !tokenForm().MatchString(o.Token): // not shown: it may contain a valid token
		return nil, tokenProblem(errors.New("must look like 123456789:AAE… as @BotFather gave it"))
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("apiBase: must be an http or https address (got %q)",
			strings.ReplaceAll(o.APIBase, o.Token, httpclient.RedactedSecret))
	case !slices.Contains([]string{"", "poll", "webhook"}, o.Mode):
		return nil, fmt.Errorf("mode: must be poll or webhook (got %q)", o.Mode)
	case !slices.Contains([]string{"mention", "all", "off"}, o.Groups):
		return nil, fmt.Errorf("groups: must be mention, all or off (got %q)", o.Groups)
	case o.Folder == nil:
		return nil, errors.New("no folder for files")
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	log := o.Log.With(zap.String("channel", o.Channel))
	var webhook *receiving.Webhook
	if o.Mode == "webhook" {
		if webhook, err = receiving.NewWebhook(o.WebhookURL, o.WebhookSecret, o.Token, log); err != nil {
			return nil, err
		}
	}
	earlier, err := receiving.ReadLegacyState(o.LegacyState)
	if err != nil {
		return nil, err
	}
	pacer := pace.New(o.Unpaced)
	api, err := botapi.New(o.APIBase, o.Token, o.Client, pacer)
	if err != nil {
		return nil, err
	}
	c := &Channel{api: api, migrations: chats.NewMigrations(earlier.Moved), groups: o.Groups, webhook: webhook}
	id, _, _ := strings.Cut(o.Token, ":")
	c.Menu = menus.New(menus.Options{API: api, Pace: pacer, Migrations: c.migrations, Log: log, Bot: id})
	c.Sender = sending.New(sending.Options{
		API: api, Pace: pacer, Migrations: c.migrations, Log: log,
		Rich: !o.NoRich, Drafts: !o.NoDrafts, Reactions: !o.NoReactions,
		GroupDocuments: o.GroupDocuments, OwnServer: o.APIBase != DefaultAPI,
	})
	c.Receiver = receiving.New(receiving.Options{
		Channel: o.Channel,
		API:     api, Migrations: c.migrations, Sender: c.Sender, Menu: c.Menu, Webhook: webhook, Groups: o.Groups,
		Folder: o.Folder, MaxDownload: o.MaxDownload, Admitted: o.Admitted, Legacy: earlier, Timing: o.Timing, Log: log,
	})
	return c, nil
}

// SetMemory sets the channel's memory. It must be called before Run.
func (c *Channel) SetMemory(m channels.Memory) {
	c.migrations.SetMemory(m)
	c.Sender.SetMemory(m)
	c.Receiver.SetMemory(m)
	c.Menu.SetMemory(m)
}

// SetWords sets the catalogue of the words that the channel adds to messages.
func (c *Channel) SetWords(w *words.Catalogue) {
	c.Sender.SetWords(w)
	c.Receiver.SetWords(w)
}

// CloseIdleConnections closes the connections that no call uses.
func (c *Channel) CloseIdleConnections() { c.api.CloseIdleConnections() }
