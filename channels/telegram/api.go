package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"nanobot/channels/remote"
)

// api makes calls. The answer is read by ourselves and not by the library because of a message that
// was sent only the id matters: were an answer too new for the library's types, a message would
// count as not sent and go out twice.
type api struct {
	base, token string
	http        *remote.Client
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

// call makes a call without files. Into may be nil.
func (a *api) call(ctx context.Context, method string, params, into any) error {
	body, err := remote.NewJSON(params)
	return a.post(ctx, method, body, err, into)
}

// post makes a call with a body, which it closes, unless that could not be made.
func (a *api) post(ctx context.Context, method string, body *remote.Body, err error, into any) error {
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	defer body.Close()
	req, err := body.Request(ctx, http.MethodPost, a.url(method))
	if err != nil {
		return a.silent(method, err, false)
	}
	return a.do(req, method, into)
}

func (a *api) url(method string) string { return a.base + "/bot" + a.token + "/" + method }

// do makes a request and reads its answer.
func (a *api) do(req *http.Request, method string, into any) error {
	resp, written, err := a.http.Do(req)
	if err != nil {
		return a.silent(method, err, written)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return a.silent(method, err, true)
	}
	var ans answer
	if err := json.Unmarshal(body, &ans); err != nil || !ans.OK && ans.ErrorCode == 0 {
		if resp.StatusCode >= 300 { // a proxy's page
			return &refusal{Method: method, Code: resp.StatusCode, Description: http.StatusText(resp.StatusCode)}
		}
		return a.silent(method, errors.New("the answer is not the Bot API's"), true)
	}
	if !ans.OK {
		return &refusal{
			Method: method, Code: ans.ErrorCode, Description: a.clean(ans.Description),
			RetryAfter: time.Duration(ans.Parameters.RetryAfter) * time.Second, MigrateTo: ans.Parameters.MigrateTo,
		}
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(ans.Result, into); err != nil {
		return a.silent(method, fmt.Errorf("decode answer: %w", err), true)
	}
	return nil
}

// silent makes an error of a call that was not answered. The URL is left out, since it contains the
// token.
func (a *api) silent(method string, err error, written bool) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if text := err.Error(); strings.Contains(text, a.token) {
		err = errors.New(a.clean(text))
	}
	return &silence{Method: method, Err: err, Written: written}
}

func (a *api) clean(text string) string { return strings.ReplaceAll(text, a.token, hidden) }
