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

	"nanobot/channels/remote"
)

// api makes calls of the Bot API. Calls without files are methods of the library go-telegram/bot,
// which encodes parameters and decodes results: see execute and query. The package writes three
// kinds of request by hand:
//
//   - uploads, because the library builds the whole request in memory: a file of 48 MiB allocates
//     about 160 MiB there, and about 100 KiB here (TestAnUploadIsStreamed);
//   - getUpdates, because the library exports no method for it, only a loop of its own, which
//     confirms updates before they are stored (library_loop_test.go);
//   - downloads, for which the library has no method.
//
// All requests go through one transport. Whether a call was refused, or may have been carried out,
// is decided by what the transport has recorded of it, and never by an error of the library.
type api struct {
	*transport
	base string
	bot  *bot.Bot
}

// newAPI returns an api. It makes no network call.
func newAPI(base, token string, client *http.Client) (*api, error) {
	a := &api{base: base, transport: &transport{token: token, http: remote.NewClient(client)}}
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
func execute[P, R any](ctx context.Context, a *api, method func(*bot.Bot, context.Context, *P) (R, error), params *P) (*call, error) {
	made := &call{}
	_, err := method(a.bot, withCall(ctx, made), params)
	return made, a.outcome(made, err)
}

// executeQuickly is execute within callTimeout.
func executeQuickly[P, R any](ctx context.Context, a *api, method func(*bot.Bot, context.Context, *P) (R, error), params *P) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := execute(ctx, a, method, params)
	return err
}

// query makes a call for its result, by a method of the library.
func query[R any](ctx context.Context, a *api, method func(context.Context) (*R, error)) (*R, error) {
	made := &call{}
	result, err := method(withCall(ctx, made))
	if failed := a.outcome(made, err); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, a.undecodable(made, err)
	}
	return result, nil
}

func (a *api) getMe(ctx context.Context) (*models.User, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return query(ctx, a, a.bot.GetMe)
}

func (a *api) getWebhookInfo(ctx context.Context) (*models.WebhookInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return query(ctx, a, a.bot.GetWebhookInfo)
}

func (a *api) getFile(ctx context.Context, id string) (*models.File, error) {
	return query(ctx, a, func(ctx context.Context) (*models.File, error) {
		return a.bot.GetFile(ctx, &bot.GetFileParams{FileID: id})
	})
}

// getUpdates asks for updates, undecoded: one that cannot be decoded must not cost the others.
func (a *api) getUpdates(ctx context.Context, params map[string]any) (updates []json.RawMessage, err error) {
	body, err := remote.NewJSON(params)
	made, err := a.post(ctx, "getUpdates", body, err)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(made.result, &updates); err != nil {
		return nil, a.undecodable(made, err)
	}
	return updates, nil
}

// sentID returns the id of the message that a call has sent, of an album that of the first. It reads
// the result as Telegram sent it, whatever the library makes of the rest.
func (a *api) sentID(made *call, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	message := made.result
	var album []json.RawMessage
	if json.Unmarshal(made.result, &album) == nil && len(album) > 0 {
		message = album[0]
	}
	var sent struct {
		ID int `json:"message_id"`
	}
	if err := json.Unmarshal(message, &sent); err != nil {
		return 0, a.undecodable(made, err)
	}
	return sent.ID, nil
}

// post makes a call by hand, with a body that it closes, unless the body could not be made.
func (a *api) post(ctx context.Context, method string, body *remote.Body, err error) (*call, error) {
	made := &call{}
	if err != nil {
		return made, fmt.Errorf("%s: %w", method, err)
	}
	defer body.Close()
	req, err := body.Request(withCall(ctx, made), http.MethodPost, a.base+"/bot"+a.token+"/"+method)
	if err != nil {
		return made, a.silent(method, err, false)
	}
	_, _ = a.Do(req) // which has read the answer, and recorded the error
	return made, made.err
}

// outcome is what a call of the library came to. err is the library's error, which counts only if
// the library has made no request.
func (a *api) outcome(made *call, err error) error {
	if !made.requested && err != nil {
		return errors.New(a.clean(err.Error()))
	}
	return made.err
}

// undecodable is the error of an answer that says OK and has a result that cannot be used.
func (a *api) undecodable(made *call, err error) error {
	return a.silent(made.method, fmt.Errorf("decode answer: %w", err), true)
}
