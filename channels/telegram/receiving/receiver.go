// Package receiving receives the updates of one bot, by polling or by webhook: in order within a
// chat, chats in parallel. It confirms an update only when it is stored, assembles albums and
// downloads files. It knows nothing of agents, queues or storage.
package receiving

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"time"

	"github.com/go-telegram/bot"
	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/menus"
	"nanobot/channels/telegram/sending"
	"nanobot/channels/telegram/updates"
	"nanobot/internal/words"
)

// Options configures a receiver.
type Options struct {
	Channel    string // the channel's name
	API        *botapi.Client
	Migrations *chats.Migrations
	Sender     *sending.Sender // of answers to messages that cannot be received
	Menu       *menus.Menu     // published while Run is running
	Webhook    *Webhook        // nil: updates are polled
	Groups     string          // which group messages are accepted: mention, all, off
	// Folder creates and opens the download folder of a chat, by an absolute path.
	Folder func(chatID string) (*os.Root, error)
	// MaxDownload is the largest accepted file in bytes; 0: the limit of the server.
	MaxDownload int64
	// Admitted reports whether a user may talk to the bot. Messages of other users are received
	// without their files, and their button presses leave the buttons in place.
	Admitted func(userID string) bool
	Legacy   *LegacyState // Run imports it
	Timing   Timing
	Log      *zap.Logger
}

// Timing sets timeouts and intervals. Zero values are the defaults.
type Timing struct {
	Poll   time.Duration // timeout of a long poll: 50 s, Telegram's maximum
	Margin time.Duration // additional time after which a poll counts as stalled: 10 s
	Quiet  time.Duration // time without a new part after which an album counts as complete: 1 s
	Paste  time.Duration // time to wait for the rest of a text that Telegram may have cut: 700 ms
	// Comment is the time to wait in an idle chat for the messages that a text introduces: 150 ms.
	// Negative: no wait.
	Comment time.Duration
	Resend  time.Duration // time within which Telegram repeats a refused delivery: 130 s, because it waits up to 120 s
	Watch   time.Duration // interval of webhook checks: 1 min
	// Follow is how long after a text to the bot a forwarded message or an album of the same person
	// in the group is for the bot, too, although it does not mention the bot: 1 s.
	Follow time.Duration
	// Response is how long a button shows its progress indicator before the gateway has handled
	// the press: 3 s.
	Response time.Duration
}

// withDefaults replaces zero values.
func (t Timing) withDefaults() Timing {
	t.Poll = cmp.Or(t.Poll, 50*time.Second)
	t.Margin = cmp.Or(t.Margin, 10*time.Second)
	t.Quiet = cmp.Or(t.Quiet, time.Second)
	t.Paste = cmp.Or(t.Paste, 700*time.Millisecond)
	t.Comment = cmp.Or(t.Comment, 150*time.Millisecond)
	t.Resend = cmp.Or(t.Resend, 130*time.Second)
	t.Watch = cmp.Or(t.Watch, time.Minute)
	t.Follow = cmp.Or(t.Follow, time.Second)
	t.Response = cmp.Or(t.Response, 3*time.Second)
	return t
}

// Receiver receives the updates of one bot.
type Receiver struct {
	o         Options
	downloads *downloader
	memory    channels.Memory
	words     *words.Catalogue

	resumeCursor     string // the cursor from Resume, until loadState has parsed it
	lastStored       int64  // all updates up to this one are stored; only Run uses it once it runs
	identity         identity
	connectionHealth health // of the connection to Telegram
	storageHealth    health // of storing received messages
}

// New returns a receiver.
func New(o Options) *Receiver {
	o.Timing = o.Timing.withDefaults()
	if o.Admitted == nil {
		o.Admitted = func(string) bool { return true }
	}
	return &Receiver{
		o: o, identity: identity{groups: o.Groups, menu: o.Menu},
		downloads: &downloader{
			api: o.API, folders: downloads.New(o.Channel, o.Folder), maxBytes: o.MaxDownload,
			slots: semaphore.NewWeighted(maxDownloads), log: o.Log,
		},
	}
}

// chat returns the chat with an ID.
func (r *Receiver) chat(id string) channels.Chat { return channels.Chat{Channel: r.o.Channel, ID: id} }

// Resume sets the cursor of the last stored update. It must be called before Run.
func (r *Receiver) Resume(cursor string) { r.resumeCursor = cursor }

// SetMemory sets the channel's memory. It must be called before Run.
func (r *Receiver) SetMemory(m channels.Memory) { r.memory = m }

// SetFiles sets the limit and the records of received files. It must be called before Run.
func (r *Receiver) SetFiles(f channels.ReceivedFiles) { r.downloads.folders.SetFiles(f) }

// SaveFiles saves files that nobody has sent in the folder of a chat.
func (r *Receiver) SaveFiles(chat channels.Chat, files []channels.File) (paths []string, discard func(), err error) {
	return r.downloads.folders.SaveFiles(chat.ID, files)
}

// SetWords sets the catalogue of the words that are added to messages.
func (r *Receiver) SetWords(w *words.Catalogue) { r.words = w }

// Mount returns the pattern and the handler of the webhook, or "" and nil in poll mode.
func (r *Receiver) Mount() (pattern string, h http.Handler) {
	if r.o.Webhook == nil {
		return "", nil
	}
	return r.o.Webhook.pattern, http.HandlerFunc(r.o.Webhook.serve)
}

// Run receives updates until ctx ends, by polling or by webhook. It returns an error only if
// Telegram rejects the token or SetMemory was not called. Other failures are retried.
func (r *Receiver) Run(ctx context.Context, receive channels.Receive) error {
	if ctx.Err() != nil {
		return nil
	}
	defer r.o.API.CloseIdleConnections()
	if r.memory == nil {
		return errNoMemory
	}
	err := r.fetchBotUser(ctx)
	if err == nil {
		err = r.receiveUpdates(ctx, receive)
	}
	if ctx.Err() != nil {
		return nil // normal shutdown
	}
	return err
}

// fetchBotUser fetches the bot's own account. Its username is needed to recognise mentions.
func (r *Receiver) fetchBotUser(ctx context.Context) error {
	return r.connectionHealth.retry(ctx, r.o.Log, "cannot reach Telegram, will retry", func() error {
		me, err := r.o.API.GetMe(ctx)
		if err == nil {
			r.identity.user = *me
			r.o.Log.Info("connected", zap.String("bot", "@"+me.Username))
		}
		return err
	})
}

// receiveUpdates restores pending messages and receives updates until ctx ends.
func (r *Receiver) receiveUpdates(ctx context.Context, receive channels.Receive) error {
	ctx, cancel := context.WithCancel(ctx)
	in := newAcceptor(r, receive)
	defer in.awaitTasks()
	defer cancel()
	parts, err := r.loadState(ctx, receive)
	if err != nil {
		return err
	}
	in.restorePending(ctx, parts)
	in.startTask(func() { r.o.Menu.KeepPublished(ctx) })
	return in.run(ctx)
}

// loadState loads the channel's memory and imports the files of earlier versions, with retries
// until ctx ends. It returns the stored parts of pending messages.
func (r *Receiver) loadState(ctx context.Context, receive channels.Receive) (parts []channels.Incoming, err error) {
	err = r.storageHealth.retry(ctx, r.o.Log, "cannot read the messages that earlier runs left, will retry", func() error {
		if err := r.importLegacyState(ctx, receive); err != nil {
			return err
		}
		if err := r.identity.load(ctx, r.memory); err != nil {
			return err
		}
		if r.resumeCursor != "" {
			r.lastStored, r.resumeCursor = r.identity.parseCursor(r.resumeCursor), ""
		}
		if err := r.o.Migrations.Load(ctx); err != nil {
			return err
		}
		parts, err = r.memory.Parts(ctx)
		return err
	})
	return parts, err
}

// resolveChat records the migration in an update, and sets the original chat of its messages. It is
// called for one update after the other, in order.
func (r *Receiver) resolveChat(u *updates.Update) {
	m := u.Message
	if u.CallbackQuery != nil {
		m = u.CallbackQuery.Message
	}
	if m == nil {
		return
	}
	if from, to, ok := m.Migration(); ok {
		r.o.Migrations.Record(from, to)
	}
	for ; m != nil; m = m.ReplyTo {
		m.OriginalChat = r.o.Migrations.OriginalID(m.Chat.ID)
	}
}

// saveIfMigrated stores the migrations if a message contains one. When it returns nil, the messages
// may be confirmed.
func (r *Receiver) saveIfMigrated(ctx context.Context, messages ...*updates.Message) error {
	for _, m := range messages {
		if _, _, ok := m.Migration(); ok {
			return r.o.Migrations.Save(ctx)
		}
	}
	return nil
}

// removeWebhook removes the webhook of an earlier run or of another program. Updates that were not
// delivered yet are polled.
func (r *Receiver) removeWebhook(ctx context.Context) error {
	err := botapi.ExecuteWithTimeout(ctx, r.o.API, (*bot.Bot).DeleteWebhook, &bot.DeleteWebhookParams{})
	if err == nil {
		r.o.Log.Info("removed the webhook of this bot, because the mode is poll")
	}
	return err
}

// allowedUpdates are the kinds of updates that polls and the webhook request.
var allowedUpdates = []string{"message", "edited_message", "callback_query"}
