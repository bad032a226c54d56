// Package botapi makes calls of Telegram's Bot API and classifies their errors. It knows nothing of
// messages of the gateway, nor when a call is made again.
package botapi

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
	"nanobot/channels/telegram/pace"
)

// Telegram is the address of Telegram's own Bot API.
const Telegram = "https://api.telegram.org"

// Client makes calls of the Bot API. Calls without files are methods of the library
// go-telegram/bot, which knows the methods and encodes their parameters: see Execute, Send and
// query. The package writes three kinds of request by hand:
//
//   - uploads, because the library builds the whole request in memory: a file of 48 MiB allocates
//     about 160 MiB there, and about 100 KiB here (TestAnUploadIsStreamed);
//   - getUpdates, because the library exports no method for it, only a loop of its own, which
//     confirms updates before they are stored (library_loop_test.go);
//   - downloads, for which the library has no method.
//
// All requests go through one transport. The outcome that it records decides whether a call was
// refused or may have been executed, never an error of the library. No error contains the token.
type Client struct {
	transport   *transport
	base, token string
	bot         *bot.Bot
	pace        *pace.Pacer // all calls but getUpdates wait for its overall limit
}

// New returns a client for the server at an address. It makes no network call.
func New(base, token string, client *http.Client, pace *pace.Pacer) (*Client, error) {
	c := &Client{base: base, token: token, transport: &transport{httpclient.NewClient(client, token)}, pace: pace}
	var err error
	// The library's own handlers of errors, debug messages and updates print them with package log.
	// The poll timeout and the channel of updates are of its poll loop, which does not run.
	c.bot, err = bot.New(
		token, bot.WithSkipGetMe(), bot.WithServerURL(base), bot.WithHTTPClient(0, libraryTransport{c.transport}),
		bot.WithUpdatesChannelCap(0),
		bot.WithErrorsHandler(func(error) {}), bot.WithDebugHandler(func(string, ...any) {}),
		bot.WithDefaultHandler(func(context.Context, *bot.Bot, *models.Update) {}),
	)
	if err != nil {
		return nil, errors.New(c.Redact(err.Error()))
	}
	return c, nil
}

// ClockSkew returns how far the server's clock is ahead of the local one, if a response had a date.
func (c *Client) ClockSkew() (skew time.Duration, known bool) { return c.transport.http.ClockSkew() }

// CloseIdleConnections closes the connections that no call uses.
func (c *Client) CloseIdleConnections() { c.transport.http.CloseIdleConnections() }

// CallTimeout is the timeout of a call without files, with the wait for the rate limit.
const CallTimeout = 30 * time.Second

// Execute makes a call with an effect, by a method of the library. The call has succeeded when
// Telegram says so, even if the library cannot decode the result: otherwise a sent message would
// count as failed and be sent twice.
func Execute[P, R any](ctx context.Context, c *Client, method func(*bot.Bot, context.Context, *P) (R, error),
	params *P,
) error {
	_, err := execute(ctx, c, method, params)
	return err
}

// ExecuteWithTimeout is Execute within CallTimeout.
func ExecuteWithTimeout[P, R any](ctx context.Context, c *Client, method func(*bot.Bot, context.Context, *P) (R, error),
	params *P,
) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return Execute(ctx, c, method, params)
}

// Send is Execute for a method that sends a message. It returns the message's ID.
func Send[P, R any](ctx context.Context, c *Client, method func(*bot.Bot, context.Context, *P) (R, error),
	params *P,
) (int, error) {
	got, err := execute(ctx, c, method, params)
	if err != nil {
		return 0, err
	}
	return c.sentID(got)
}

func execute[P, R any](ctx context.Context, c *Client, method func(*bot.Bot, context.Context, *P) (R, error),
	params *P,
) (*callRecord, error) {
	got := &callRecord{}
	returned, err := c.pace.WaitOverall(ctx, 1)
	if err != nil {
		return got, err
	}
	defer returned()
	_, err = method(c.bot, withRecord(ctx, got), params)
	return got, c.checkResponse(got, err)
}

// query makes a call for its result, by a method of the library, and decodes the result as T.
func query[T, R any](ctx context.Context, c *Client, method func(context.Context) (R, error)) (*T, error) {
	got := &callRecord{}
	returned, err := c.pace.WaitOverall(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer returned()
	_, err = method(withRecord(ctx, got))
	if err := c.checkResponse(got, err); err != nil {
		return nil, err
	}
	return decode[T](c, got)
}

// decode decodes the result of a call. T has only the used fields, so changes of other fields are
// no error.
func decode[T any](c *Client, got *callRecord) (*T, error) {
	var result *T
	err := json.Unmarshal(got.result, &result)
	if err == nil && result == nil {
		err = errNoResult
	}
	if err != nil {
		return nil, c.undecodableResult(got, err)
	}
	return result, nil
}

// BotUser is the bot's own account.
type BotUser struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
	ReadsAll bool   `json:"can_read_all_group_messages"`
}

// GetMe returns the bot's own account.
func (c *Client) GetMe(ctx context.Context) (*BotUser, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	me, err := query[BotUser](ctx, c, c.bot.GetMe)
	if err == nil && me.ID == 0 {
		return nil, c.noResponse("getMe", errNoID, true)
	}
	return me, err
}

// WebhookInfo is the state of the bot's webhook.
type WebhookInfo struct {
	URL       string `json:"url"` // "": none is set
	Pending   int    `json:"pending_update_count"`
	LastError int64  `json:"last_error_date"` // in Unix time; 0: there was none
	Reason    string `json:"last_error_message"`
}

// GetWebhookInfo returns the state of the bot's webhook.
func (c *Client) GetWebhookInfo(ctx context.Context) (*WebhookInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return query[WebhookInfo](ctx, c, c.bot.GetWebhookInfo)
}

// getUpdates is the method whose callers decide how long it may take.
const getUpdates = "getUpdates"

// GetUpdates returns updates without decoding them, so that an undecodable update does not affect
// the others.
func (c *Client) GetUpdates(ctx context.Context, params map[string]any) ([]json.RawMessage, error) {
	body, err := httpclient.NewJSON(params)
	got, err := c.postByHand(ctx, getUpdates, body, err)
	if err != nil {
		return nil, err
	}
	updates, err := decode[[]json.RawMessage](c, got)
	if err != nil {
		return nil, err
	}
	return *updates, nil
}

// sentID returns the ID of the message that a call has sent; for an album, of the first. A result
// without an ID is an error, because the message may not exist.
func (c *Client) sentID(got *callRecord) (int, error) {
	message := got.result
	var album []json.RawMessage
	if json.Unmarshal(got.result, &album) == nil && len(album) > 0 {
		message = album[0]
	}
	var sent struct {
		ID int `json:"message_id"`
	}
	err := json.Unmarshal(message, &sent)
	if err == nil && sent.ID == 0 {
		err = errNoID
	}
	if err != nil {
		return 0, c.undecodableResult(got, err)
	}
	return sent.ID, nil
}

// postByHand makes a call without the library. It closes the body. err is the error of creating the
// body.
func (c *Client) postByHand(ctx context.Context, method string, body *httpclient.Body, err error) (*callRecord, error) {
	got := &callRecord{}
	if err != nil {
		return got, fmt.Errorf("%s: %w", method, err)
	}
	defer body.Close()
	req, err := body.Request(withRecord(ctx, got), http.MethodPost, c.base+"/bot"+c.token+"/"+method)
	if err != nil {
		return got, c.noResponse(method, err, false)
	}
	if resp, err := c.transport.Do(req); err == nil {
		resp.Body.Close()
	}
	return got, c.checkResponse(got, nil)
}
