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
// All requests go through one transport. The outcome that it records decides whether a call was
// refused or may have been executed, never an error of the library. No error contains the token.
type api struct {
	*transport
	base, token string
	bot         *bot.Bot
	pace        *pacer // all calls but getUpdates wait for its overall limit
}

// newAPI returns an api. It makes no network call.
func newAPI(base, token string, client *http.Client, pace *pacer) (*api, error) {
	a := &api{base: base, token: token, transport: &transport{httpclient.NewClient(client)}, pace: pace}
	var err error
	// The library's own handlers of errors, debug messages and updates print them with package log.
	// The poll timeout and the channel of updates are of its poll loop, which does not run.
	a.bot, err = bot.New(
		token, bot.WithSkipGetMe(), bot.WithServerURL(base), bot.WithHTTPClient(0, a.transport), bot.WithUpdatesChannelCap(0),
		bot.WithErrorsHandler(func(error) {}), bot.WithDebugHandler(func(string, ...any) {}),
		bot.WithDefaultHandler(func(context.Context, *bot.Bot, *models.Update) {}),
	)
	if err != nil {
		return nil, errors.New(a.redact(err.Error()))
	}
	return a, nil
}

// callTimeout is the timeout of a call without files.
const callTimeout = 30 * time.Second

// execute makes a call with an effect, by a method of the library. The call has succeeded when
// Telegram says so, even if the library cannot decode the result: otherwise a sent message would
// count as failed and be sent twice.
func execute[P, R any](ctx context.Context, a *api, method func(*bot.Bot, context.Context, *P) (R, error), params *P) (*callRecord, error) {
	got := &callRecord{}
	if err := a.pace.waitOverall(ctx, 1); err != nil {
		return got, err
	}
	_, err := method(a.bot, withRecord(ctx, got), params)
	return got, a.checkResponse(got, err)
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
	got := &callRecord{}
	if err := a.pace.waitOverall(ctx, 1); err != nil {
		return nil, err
	}
	_, err := method(withRecord(ctx, got))
	if err := a.checkResponse(got, err); err != nil {
		return nil, err
	}
	return decode[T](a, got)
}

// decode decodes the result of a call. T has only the used fields, so changes of other fields are
// no error.
func decode[T any](a *api, got *callRecord) (*T, error) {
	var result *T
	err := json.Unmarshal(got.result, &result)
	if err == nil && result == nil {
		err = errNoResult
	}
	if err != nil {
		return nil, a.undecodableResult(got, err)
	}
	return result, nil
}

// botUser is the bot's own account.
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
		return nil, a.noResponse("getMe", errNoID, true)
	}
	return me, err
}

// webhookInfo is the state of the bot's webhook.
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

// storedFile is a downloadable file.
type storedFile struct {
	Path string `json:"file_path"`
	Size int64  `json:"file_size"`
}

func (a *api) getFile(ctx context.Context, id string) (*storedFile, error) {
	return query[storedFile](ctx, a, func(ctx context.Context) (*models.File, error) {
		return a.bot.GetFile(ctx, &bot.GetFileParams{FileID: id})
	})
}

// getUpdates returns updates without decoding them, so that an undecodable update does not affect
// the others.
func (a *api) getUpdates(ctx context.Context, params map[string]any) ([]json.RawMessage, error) {
	a.pace.countCall()
	body, err := httpclient.NewJSON(params)
	got, err := a.postByHand(ctx, "getUpdates", body, err)
	if err != nil {
		return nil, err
	}
	updates, err := decode[[]json.RawMessage](a, got)
	if err != nil {
		return nil, err
	}
	return *updates, nil
}

// sentID returns the ID of the message that a call has sent; for an album, of the first. A result
// without an ID is an error, because the message may not exist.
func (a *api) sentID(got *callRecord, err error) (int, error) {
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
		return 0, a.undecodableResult(got, err)
	}
	return sent.ID, nil
}

// postByHand makes a call without the library. It closes the body. err is the error of creating the
// body.
func (a *api) postByHand(ctx context.Context, method string, body *httpclient.Body, err error) (*callRecord, error) {
	got := &callRecord{}
	if err != nil {
		return got, fmt.Errorf("%s: %w", method, err)
	}
	defer body.Close()
	req, err := body.Request(withRecord(ctx, got), http.MethodPost, a.base+"/bot"+a.token+"/"+method)
	if err != nil {
		return got, a.noResponse(method, err, false)
	}
	if resp, err := a.Do(req); err == nil {
		resp.Body.Close()
	}
	return got, a.checkResponse(got, nil)
}
