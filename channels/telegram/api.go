package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// api makes calls. The answer is read by ourselves and not by the library because of a message that was sent only the
// id matters: were an answer too new for the library's types, a message would count as not sent and go out twice.
type api struct {
	base, token string
	http        *http.Client
}

// hidden stands for the token, which is part of every URL and must be in no error.
const hidden = "***"

// maxAnswer bounds what is read of an answer. A hundred updates are some hundred kilobytes.
const maxAnswer = 32 << 20

func newAPI(base, token string, client *http.Client) *api {
	own := http.Client{}
	if client != nil {
		own = *client
	} else {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 8
		// A connection that died without a word is noticed by pings instead of by each of its requests.
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 20 * time.Second, PingTimeout: 10 * time.Second}
		own.Transport = t
	}
	// The token must not follow a redirection to somebody else.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &api{base: base, token: token, http: &own}
}

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
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url(method), bytes.NewReader(body))
	if err != nil {
		return a.silent(method, err, false)
	}
	req.Header.Set("Content-Type", "application/json")
	return a.do(req, method, into)
}

func (a *api) url(method string) string { return a.base + "/bot" + a.token + "/" + method }

// do makes a request and reads its answer.
func (a *api) do(req *http.Request, method string, into any) error {
	resp, written, err := a.open(req)
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

// open makes a request and says, when there is no answer, whether the request was written.
func (a *api) open(req *http.Request) (resp *http.Response, written bool, err error) {
	var wrote atomic.Bool
	trace := &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			if i.Err == nil {
				wrote.Store(true)
			}
		},
	}
	resp, err = a.http.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	return resp, wrote.Load(), err
}

// silent makes an error of a call that was not answered. The URL is left out, since it contains the token.
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
