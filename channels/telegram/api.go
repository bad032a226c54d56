package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels/httpclient"
)

// api makes calls of the Bot API. Calls without files are methods of the library go-telegram/bot,
// which knows the methods and encodes their parameters: see execute and query. The package writes
// three kinds of request by hand:
//
//   - uploads, because the library builds the whole request in memory: a file of 48 MiB allocates
//     about 160 MiB there, and about 100 KiB here (TestAnUploadIsStreamed);
//   - getUpdates, because the library exports no method for it, only a loop of its own, which
//     confirms updates before they are stored (library_loop_test.go);
//   - downloads, for which the library has no method.
//
// All requests go through one transport. Whether a call was refused, or may have been carried out,
// is decided by the outcome that the transport has recorded, and never by an error of the library.
// No error contains the token.
type api struct {
	*transport
	base, token string
	bot         *bot.Bot
}

// newAPI returns an api. It makes no network call.
func newAPI(base, token string, client *http.Client) (*api, error) {
	a := &api{base: base, token: token, transport: &transport{httpclient.NewClient(client)}}
	var err error
	// The library's own handlers of errors, debug messages and updates print them with package log.
	// The poll timeout and the channel of updates are of its poll loop, which does not run.
	a.bot, err = bot.New(
		token, bot.WithSkipGetMe(), bot.WithServerURL(base), bot.WithHTTPClient(0, a.transport), bot.WithUpdatesChannelCap(0),
		bot.WithErrorsHandler(func(error) {}), bot.WithDebugHandler(func(string, ...any) {}),
		bot.WithDefaultHandler(func(context.Context, *bot.Bot, *models.Update) {}),
	)
	if err != nil {
		return nil, errors.New(a.clean(err.Error()))
	}
	return a, nil
}

// callTimeout is how long a call may take that moves no file.
const callTimeout = 30 * time.Second

// execute makes a call that has an effect, by a method of the library. The call has succeeded when
// Telegram says so, also if its answer is too new for the library's types: otherwise a message
// would count as not sent and go out twice.
func execute[P, R any](ctx context.Context, a *api, method func(*bot.Bot, context.Context, *P) (R, error), params *P) (*record, error) {
	got := &record{}
	_, err := method(a.bot, withRecord(ctx, got), params)
	return got, a.check(got, err)
}

// executeWithTimeout is execute within callTimeout.
func executeWithTimeout[P, R any](ctx context.Context, a *api, method func(*bot.Bot, context.Context, *P) (R, error), params *P) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := execute(ctx, a, method, params)
	return err
}

// query makes a call for its result, by a method of the library, and decodes the result as T.
func query[T, R any](ctx context.Context, a *api, method func(context.Context) (R, error)) (*T, error) {
	got := &record{}
	_, err := method(withRecord(ctx, got))
	if err := a.check(got, err); err != nil {
		return nil, err
	}
	return decode[T](a, got)
}

// decode decodes the result of a call. T has only the fields that are read: what a later Bot API
// adds or changes elsewhere is no error.
func decode[T any](a *api, got *record) (*T, error) {
	var result *T
	err := json.Unmarshal(got.result, &result)
	if err == nil && result == nil {
		err = errNoResult
	}
	if err != nil {
		return nil, a.undecodable(got, err)
	}
	return result, nil
}

// botUser is the bot itself.
type botUser struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
	ReadsAll bool   `json:"can_read_all_group_messages"`
}

func (a *api) getMe(ctx context.Context) (*botUser, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	me, err := query[botUser](ctx, a, a.bot.GetMe)
	if err == nil && me.ID == 0 {
		return nil, a.silent("getMe", errNoID, true)
	}
	return me, err
}

// webhookInfo is what Telegram knows of the bot's webhook.
type webhookInfo struct {
	URL       string `json:"url"` // "": none is set
	Pending   int    `json:"pending_update_count"`
	LastError int64  `json:"last_error_date"` // in Unix time; 0: there was none
	Reason    string `json:"last_error_message"`
}

func (a *api) getWebhookInfo(ctx context.Context) (*webhookInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return query[webhookInfo](ctx, a, a.bot.GetWebhookInfo)
}

// storedFile is a file that can be downloaded.
type storedFile struct {
	Path string `json:"file_path"`
	Size int64  `json:"file_size"`
}

func (a *api) getFile(ctx context.Context, id string) (*storedFile, error) {
	return query[storedFile](ctx, a, func(ctx context.Context) (*models.File, error) {
		return a.bot.GetFile(ctx, &bot.GetFileParams{FileID: id})
	})
}

// getUpdates asks for updates, undecoded: one that cannot be decoded must not cost the others.
func (a *api) getUpdates(ctx context.Context, params map[string]any) ([]json.RawMessage, error) {
	body, err := httpclient.NewJSON(params)
	got, err := a.post(ctx, "getUpdates", body, err)
	if err != nil {
		return nil, err
	}
	updates, err := decode[[]json.RawMessage](a, got)
	if err != nil {
		return nil, err
	}
	return *updates, nil
}

// sentID returns the id of the message that a call has sent, of an album that of the first. A
// result without one is an error: the message cannot be named, and may not even exist.
func (a *api) sentID(got *record, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	message := got.result
	var album []json.RawMessage
	if json.Unmarshal(got.result, &album) == nil && len(album) > 0 {
		message = album[0]
	}
	var sent struct {
		ID int `json:"message_id"`
	}
	err = json.Unmarshal(message, &sent)
	if err == nil && sent.ID == 0 {
		err = errNoID
	}
	if err != nil {
		return 0, a.undecodable(got, err)
	}
	return sent.ID, nil
}

// post makes a call by hand, with a body that it closes, unless the body could not be made.
func (a *api) post(ctx context.Context, method string, body *httpclient.Body, err error) (*record, error) {
	got := &record{}
	if err != nil {
		return got, fmt.Errorf("%s: %w", method, err)
	}
	defer body.Close()
	req, err := body.Request(withRecord(ctx, got), http.MethodPost, a.base+"/bot"+a.token+"/"+method)
	if err != nil {
		return got, a.silent(method, err, false)
	}
	if resp, err := a.Do(req); err == nil {
		resp.Body.Close()
	}
	return got, a.check(got, nil)
}
