package telegram

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"nanobot/channels/httpclient"
)

// refusal is an answer that says no.
type refusal struct {
	Method      string
	Code        int
	Description string
	RetryAfter  time.Duration
	MigrateTo   int64
	Foreign     bool // the answer is not the Bot API's, but for instance a proxy's
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

var (
	// errForeign is the error of a good answer that cannot be Telegram's.
	errForeign   = errors.New("the answer is not the Bot API's")
	errNoRequest = errors.New("the library made no request")
	errNoResult  = errors.New("the result is null")
	errNoID      = errors.New("the result has no id")
)

// response is the JSON object that every answer of the Bot API is.
type response struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Description string          `json:"description"`
	ErrorCode   int             `json:"error_code"`
	Parameters  struct {
		RetryAfter float64 `json:"retry_after"`
		MigrateTo  int64   `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// check returns nil if a call has succeeded, and otherwise a refusal or a silence. It adds the
// result to the record. err is the library's error, which counts only if no request was made.
func (a *api) check(got *record, err error) error {
	if got.method == "" {
		return errors.New(a.clean(cmp.Or(err, errNoRequest).Error()))
	}
	if got.Err != nil && got.Status != http.StatusTooManyRequests {
		return a.silent(got.method, got.Err, got.Written)
	}
	var r response
	err = json.Unmarshal(got.Body, &r)
	var wrongType *json.UnmarshalTypeError // of one field: the others are decoded
	foreign := err != nil && !errors.As(err, &wrongType) || !r.OK && r.ErrorCode == 0
	switch {
	case foreign && got.Status >= 300:
		return &refusal{
			Method: got.method, Code: got.Status, Description: http.StatusText(got.Status),
			RetryAfter: retryAfter(0, got.Header), Foreign: true,
		}
	case foreign:
		return a.silent(got.method, errForeign, true)
	case !r.OK:
		return &refusal{
			Method: got.method, Code: r.ErrorCode, Description: a.clean(r.Description),
			RetryAfter: retryAfter(r.Parameters.RetryAfter, got.Header), MigrateTo: r.Parameters.MigrateTo,
		}
	}
	got.result = r.Result
	return nil
}

// longestWait bounds how long Telegram may ask us to wait.
const longestWait = 24 * time.Hour

// retryAfter is how long an answer asks us to wait: by its parameters, or by its header.
func retryAfter(seconds float64, header http.Header) time.Duration {
	if seconds <= 0 {
		seconds, _ = strconv.ParseFloat(header.Get("Retry-After"), 64)
	}
	if !(seconds > 0) { // also if it is no number
		return 0
	}
	return time.Duration(min(seconds, longestWait.Seconds()) * float64(time.Second))
}

// silent makes an error of a call that was not answered.
func (a *api) silent(method string, err error, written bool) error {
	return &silence{Method: method, Err: httpclient.Redact(err, a.token), Written: written}
}

// undecodable is the error of an answer that says OK and has a result that cannot be used.
func (a *api) undecodable(got *record, err error) error {
	return a.silent(got.method, fmt.Errorf("decode answer: %w", err), true)
}

func (a *api) clean(text string) string { return strings.ReplaceAll(text, a.token, httpclient.Hidden) }
