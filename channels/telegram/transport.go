package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/go-telegram/bot"

	"nanobot/channels/remote"
)

// transport makes the requests of all calls, those of the library included, and records in the
// call that travels in a request's context how it went. No error contains the token.
type transport struct {
	token string
	http  *remote.Client
}

var _ bot.HttpClient = (*transport)(nil)

// call is what the transport records of one call.
type call struct {
	method    string
	requested bool            // a request was made
	result    json.RawMessage // as Telegram sent it, if it said OK
	err       error           // a refusal or a silence; nil if Telegram said OK
}

type callKey struct{}

// withCall returns a context in which a call travels.
func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// hidden stands for the token, which is part of every URL and must be in no error.
const hidden = "***"

// maxAnswer bounds what is read of an answer. A hundred updates are some hundred kilobytes.
const maxAnswer = 32 << 20

// refusal is an answer that says no.
type refusal struct {
	Method      string
	Code        int
	Description string
	RetryAfter  time.Duration
	MigrateTo   int64
}

func (e *refusal) Error() string { return fmt.Sprintf("%s: %d %s", e.Method, e.Code, e.Description) }

// says tells whether the description contains one of the words, whatever their case.
func (e *refusal) says(words ...string) bool {
	description := strings.ToLower(e.Description)
	for _, w := range words {
		if strings.Contains(description, strings.ToLower(w)) {
			return true
		}
	}
	return false
}

// silence is a call without an answer.
type silence struct {
	Method  string
	Err     error
	Written bool // the whole request was on its way: it may have been carried out
}

func (e *silence) Error() string { return e.Method + ": " + e.Err.Error() }

func (e *silence) Unwrap() error { return e.Err }

// answer is what the Bot API says to everything.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Description string          `json:"description"`
	ErrorCode   int             `json:"error_code"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// Do makes a request and records how it went. It returns an answer of the Bot API as it was read,
// and an error for everything else.
func (t *transport) Do(req *http.Request) (*http.Response, error) {
	c, ok := req.Context().Value(callKey{}).(*call)
	if !ok {
		c = &call{}
	}
	c.method, c.requested = path.Base(req.URL.Path), true
	resp, written, err := t.http.Do(req)
	if err != nil {
		c.err = t.silent(c.method, err, written)
		return nil, c.err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		c.err = t.silent(c.method, err, true)
		return nil, c.err
	}
	if !t.read(c, resp.StatusCode, body) {
		return nil, c.err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// read records an answer, and reports whether it is one of the Bot API's.
func (t *transport) read(c *call, status int, body []byte) bool {
	var ans answer
	if err := json.Unmarshal(body, &ans); err != nil || !ans.OK && ans.ErrorCode == 0 {
		c.err = t.silent(c.method, errors.New("the answer is not the Bot API's"), true)
		if status >= 300 { // a proxy's page
			c.err = &refusal{Method: c.method, Code: status, Description: http.StatusText(status)}
		}
		return false
	}
	c.result = ans.Result
	if !ans.OK {
		c.err = &refusal{
			Method: c.method, Code: ans.ErrorCode, Description: t.clean(ans.Description),
			RetryAfter: time.Duration(ans.Parameters.RetryAfter) * time.Second, MigrateTo: ans.Parameters.MigrateTo,
		}
	}
	return true
}

// silent makes an error of a call that was not answered. The URL is left out, since it contains the
// token.
func (t *transport) silent(method string, err error, written bool) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if text := err.Error(); strings.Contains(text, t.token) {
		err = errors.New(t.clean(text))
	}
	return &silence{Method: method, Err: err, Written: written}
}

func (t *transport) clean(text string) string { return strings.ReplaceAll(text, t.token, hidden) }
