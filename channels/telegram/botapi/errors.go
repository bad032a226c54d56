package botapi

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

// Error is an error response.
type Error struct {
	Method      string
	Code        int
	Description string
	RetryAfter  time.Duration
	MigrateTo   int64
	NotTelegram bool // the response is not the Bot API's but a proxy's, for example
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %d %s", e.Method, e.Code, e.Description) }

// Mentions reports whether the description contains one of the words, ignoring case.
func (e *Error) Mentions(words ...string) bool {
	description := strings.ToLower(e.Description)
	for _, w := range words {
		if strings.Contains(description, strings.ToLower(w)) {
			return true
		}
	}
	return false
}

var (
	// errNotBotAPI is the error of a success response that cannot be the Bot API's.
	errNotBotAPI = errors.New("the response is not from the Bot API")
	errNoRequest = errors.New("the library made no request")
	errNoResult  = errors.New("the result is null")
	errNoID      = errors.New("the result has no id")
)

// response is the JSON object of every Bot API response.
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

// checkResponse returns nil if a call has succeeded, otherwise an Error or an
// httpclient.NoResponseError. It adds the result to the record. err is the library's error, which
// counts only if no request was made.
func (c *Client) checkResponse(got *callRecord, err error) error {
	if got.method == "" {
		return errors.New(c.Redact(cmp.Or(err, errNoRequest).Error()))
	}
	if got.Err != nil && got.Status != http.StatusTooManyRequests {
		return c.noResponse(got.method, got.Err, got.Written)
	}
	var r response
	err = json.Unmarshal(got.Body, &r)
	var wrongType *json.UnmarshalTypeError // of one field: the others are decoded
	foreign := err != nil && !errors.As(err, &wrongType) || !r.OK && r.ErrorCode == 0
	switch {
	case foreign && got.Status >= 300:
		return &Error{
			Method: got.method, Code: got.Status, Description: http.StatusText(got.Status),
			RetryAfter: retryAfter(0, got.Header), NotTelegram: true,
		}
	case foreign:
		return c.noResponse(got.method, errNotBotAPI, true)
	case !r.OK:
		return &Error{
			Method: got.method, Code: r.ErrorCode, Description: c.Redact(r.Description),
			RetryAfter: retryAfter(r.Parameters.RetryAfter, got.Header), MigrateTo: r.Parameters.MigrateTo,
		}
	}
	got.result = r.Result
	return nil
}

// maxRetryAfter limits the delay that a response can demand.
const maxRetryAfter = 24 * time.Hour

// retryAfter returns the delay that a response demands: by its parameters, or by its header.
func retryAfter(seconds float64, header http.Header) time.Duration {
	if seconds <= 0 {
		seconds, _ = strconv.ParseFloat(header.Get("Retry-After"), 64)
	}
	if !(seconds > 0) { // also if it is no number
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}

// noResponse returns the error of a call without a usable response.
func (c *Client) noResponse(method string, err error, written bool) error {
	return &httpclient.NoResponseError{Name: method, Err: c.transport.http.RedactError(err, nil), Written: written}
}

// undecodableResult is the error of a success response whose result cannot be decoded.
func (c *Client) undecodableResult(got *callRecord, err error) error {
	return c.noResponse(got.method, fmt.Errorf("decode answer: %w", err), true)
}

// Redact removes the token from a text.
func (c *Client) Redact(text string) string { return c.transport.http.Redact(text) }
